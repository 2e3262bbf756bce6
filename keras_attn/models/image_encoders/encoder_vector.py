"""One vector for each picture that an encoder reads."""

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.models.vision_transformer.picture_vector import picture_vector, picture_width


@keras.saving.register_keras_serializable(package="keras_attn")
class EncoderVector(BaseLayer):
    """The vector of a picture encoder, for classifiers behind spatial transformers.

    Of a `VisionTransformer` it is the pooled vector; of any other encoder, the mean of its outputs.

    Args:
        encoder: layer, from pixels in 0..255 (B, height, width, 3) to a grid (B, grid height, grid
            width, D) or a sequence (B, S, D).
        scale: float. What the pixels of a call are multiplied by: 255 for pixels in 0..1.

    Call arguments:
        images: float (B, height, width, 3), RGB, of a size that the encoder accepts.
        training: bool.

    Returns:
        float (B, D), compute dtype.

    Example:
        >>> from keras_attn.models import SmallConvEncoder
        >>> layer = EncoderVector(SmallConvEncoder((5, 7), (2, 2)))
        >>> tuple(layer(ops.zeros((2, 13, 11, 3))).shape)
        (2, 7)
    """

    def __init__(self, encoder, scale=255.0, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.encoder, self.scale = encoder, scale

    def build(self, images_shape):
        if not self.encoder.built:
            self.encoder.build(images_shape)

    def call(self, images, training=None):
        pixels = ops.cast(images, "float32") * self.scale
        vector = picture_vector(self.encoder, pixels, training)
        return ops.cast(vector, self.compute_dtype)

    def compute_output_shape(self, images_shape):
        return (images_shape[0], picture_width(self.encoder, images_shape))
