"""Image classification models."""

import keras

from keras_attn.checks import check_sizes
from keras_attn.models.base_model import PictureClassifier
from keras_attn.models.vision_transformer.picture_vector import picture_vector, picture_width


@keras.saving.register_keras_serializable(package="keras_attn")
class ImageClassifier(PictureClassifier):
    """A picture encoder and a linear head; `compile` and `fit` train both.

    Args:
        encoder: `VisionTransformer`, whose pooled vector is the input of the head, or any layer
            from images to a grid (B, grid height, grid width, D), whose mean is.
        num_classes: int > 0.
        kernel_initializer: Keras initializer of the head's kernel; zeros as in the paper's code.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255.
        training: bool.

    Returns:
        logits: float32 (B, num_classes).

    Raises:
        ValueError: num_classes < 1.

    Example:
        >>> from keras_attn.models import SmallConvEncoder
        >>> classifier = ImageClassifier(SmallConvEncoder((5, 7), (2, 2)), 3)
        >>> tuple(classifier(ops.zeros((2, 13, 11, 3))).shape)
        (2, 3)

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, 3.2.
    """

    def __init__(self, encoder, num_classes, kernel_initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        check_sizes(num_classes=num_classes)
        self.encoder, self.num_classes = encoder, num_classes
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.head = keras.layers.Dense(
            num_classes, kernel_initializer=self.kernel_initializer, name="head", dtype="float32"
        )

    def build(self, images_shape):
        if not self.encoder.built:
            self.encoder.build(images_shape)
        self.head.build((None, picture_width(self.encoder, images_shape)))

    def float32_layers(self):
        """Layers that compute in float32 under any precision: that of the logits."""
        return [self.head]

    def call(self, images, training=None):
        return self.head(picture_vector(self.encoder, images, training))

    def attention(self, images, training=None):
        """Logits, and the attention weights of every block of a `VisionTransformer`.

        Args:
            images: as in the call.
            training: bool.

        Returns:
            logits: float32 (B, num_classes).
            weights: see `VisionTransformer.pool`.
        """
        vector, weights = self.encoder.pool(images, training=training)
        return self.head(vector), weights
