"""The tokens of a Vision Transformer as a sequence."""

import keras

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.models.vision_transformer.vision_transformer_config import TOKEN


@keras.saving.register_keras_serializable(package="keras_attn")
class VisionSequence(BaseLayer):
    """All tokens of a Vision Transformer, for decoders that attend to its class token, too.

    An encoder of a `Captioner`, as those of transformers are. The patches come last, so that the
    weights of a decoder's attention have the patches' grid at their end; the pictures that a
    service draws show these, and what they lack to a sum of 1 is the other tokens' weight.

    Args:
        encoder: `VisionTransformer`.

    Call arguments:
        images: as of the `VisionTransformer`.
        training: bool.

    Returns:
        (B, S, D), compute dtype: the class token and registers, if there are any, then the patches
        row by row.

    Example:
        >>> from keras_attn.models import VisionTransformer, VisionTransformerConfig
        >>> vision = VisionTransformer(VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2))
        >>> encoder = VisionSequence(vision)
        >>> tuple(encoder(keras.ops.zeros((2, 15, 21, 3))).shape), encoder.grid((15, 21))
        ((2, 36, 10), (5, 7))
    """

    def __init__(self, encoder, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.encoder = encoder

    def build(self, images_shape):
        self.encoder.trainable = self.trainable  # Keras hands on changes of the flag only.

    def call(self, images, training=None):
        return self.encoder.sequence(images, training=training)

    def grid(self, image_size):
        """(height, width) in patches of pictures of (height, width) pixels."""
        return self.encoder.compute_output_shape((None, *image_size, 3))[1:3]

    def compute_output_shape(self, images_shape):
        batch, height, width, units = self.encoder.compute_output_shape(images_shape)
        config = self.encoder.config
        before = config.num_registers + (config.pooling == TOKEN)
        return (batch, before + height * width, units)
