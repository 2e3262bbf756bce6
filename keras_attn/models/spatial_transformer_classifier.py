"""Image classifiers with spatial transformers."""

import keras
from keras import ops

from keras_attn.layers.scored_attention import check_width
from keras_attn.layers.spatial_transformer import SpatialTransformer, Transformed
from keras_attn.models.base_model import BaseModel, picture_signature
from keras_attn.ops.sample import sample

LUMINANCE = (0.299, 0.587, 0.114)
SETTINGS = {"data_format": "channels_last", "return_grid": True, "align_corners": False}


@keras.saving.register_keras_serializable(package="keras_attn")
class SpatialTransformerClassifier(BaseModel):
    """Spatial transformers in series, then a CNN; each samples the output of the one before it.

    Args:
        transformers: sequence of `SpatialTransformer` of channels-last pictures, with
            `return_grid=True` and `align_corners=False`; none for the CNN alone.
        encoder: Keras layer or model, from the output of the last transformer to features (B, …),
            which are flattened.
        num_classes: int > 0.
        dropout: float, 0 to 1, of the features.
        grayscale: bool. Whether the transformers and the encoder get luminance, C = 1, instead of
            RGB.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255; rescaled to 0..1.
        training: bool.

    Returns:
        logits: float32 (B, num_classes).

    Raises:
        ValueError: not a `SpatialTransformer` with these settings; num_classes < 1.

    Example:
        >>> from keras_attn.layers import Affine, SpatialTransformer
        >>> def look():
        ...     return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "relu")])
        >>> first = SpatialTransformer(look(), Affine(), (5, 7), return_grid=True)
        >>> second = SpatialTransformer(look(), Affine(), (3, 5), return_grid=True)
        >>> encoder = keras.layers.Conv2D(2, 3)
        >>> model = SpatialTransformerClassifier([first, second], encoder, num_classes=3)
        >>> logits, read = model.transformed(ops.zeros((2, 13, 11, 3)))
        >>> tuple(logits.shape), [tuple(value.images.shape) for value in read]
        ((2, 3), [(2, 5, 7, 3), (2, 3, 5, 3)])

    Source: Jaderberg et al. 2015, arXiv:1506.02025, 3.4 and 4.1.
    """

    def __init__(self, transformers, encoder, num_classes, dropout=0.0, grayscale=False, **kwargs):
        super().__init__(**kwargs)
        check_width("num_classes", num_classes)
        for transformer in transformers:
            if (
                not isinstance(transformer, SpatialTransformer)
                or _settings(transformer) != SETTINGS
            ):
                raise ValueError(
                    f"Expected SpatialTransformers with {SETTINGS}. Received: {transformer!r}"
                )
        self.transformers, self.encoder = list(transformers), encoder
        self.num_classes, self.dropout, self.grayscale = num_classes, dropout, bool(grayscale)
        self.flatten = keras.layers.Flatten(name="flatten")
        self.drop = keras.layers.Dropout(dropout, name="drop")
        self.head = keras.layers.Dense(num_classes, name="head", dtype="float32")

    def build(self, images_shape):
        shape = (*images_shape[:3], 1 if self.grayscale else images_shape[3])
        for transformer in self.transformers:
            if not transformer.built:
                transformer.build(shape)
            shape = transformer.compute_output_shape(shape).images
        if not self.encoder.built:
            self.encoder.build(shape)
        self.head.build(self.flatten.compute_output_shape(self.encoder.compute_output_shape(shape)))

    def float32_layers(self):
        """Layers that compute in float32 in any precision: those of logits and coordinates."""
        places = [part for layer in self.transformers for part in (layer.flatten, layer.head)]
        return [self.head, *places]

    def input_signature(self):
        """See `BaseModel`: the sizes of the pictures that the model was built for."""
        return picture_signature(self)

    def call(self, images, training=None):
        return self.transformed(images, training=training)[0]

    def transformed(self, images, training=None):
        """Logits, and the outputs of each transformer.

        Args:
            images: as in the call.
            training: bool.

        Returns:
            logits: float32 (B, num_classes).
            read: list of `Transformed`, one for each transformer.
        """
        pixels = ops.cast(images, "float32") / 255.0
        if self.grayscale:
            pixels = ops.sum(pixels * ops.convert_to_tensor(LUMINANCE), axis=-1, keepdims=True)
        pixels = ops.cast(pixels, self.compute_dtype)
        read: list[Transformed] = []
        for transformer in self.transformers:
            read.append(transformer(pixels, training=training))
            pixels = read[-1].images
        features = self.flatten(self.encoder(pixels, training=training))
        return self.head(self.drop(features, training=training)), read

    def compute_output_shape(self, images_shape):
        return (images_shape[0], self.num_classes)

    def get_config(self):
        config = {
            "transformers": [
                keras.saving.serialize_keras_object(transformer)
                for transformer in self.transformers
            ],
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "num_classes": self.num_classes,
            "dropout": self.dropout,
            "grayscale": self.grayscale,
        }
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        restored = keras.saving.deserialize_keras_object
        transformers = [restored(transformer) for transformer in config.pop("transformers")]
        return cls(transformers, restored(config.pop("encoder")), **config)


def _settings(transformer):
    return {name: getattr(transformer, name) for name in SETTINGS}


def composed_grid(read):
    """The sampling grid of the last of several transformers, in coordinates of the picture.

    Args:
        read: sequence of `Transformed`, one at least, each of what the one before it read, with
            `align_corners=False`.

    Returns:
        float32 (B, height, width, 2): between the points of an earlier grid, and outside it as at
        its edge, places are interpolated.
    """
    grid = read[-1].grid
    for step in reversed(read[:-1]):
        grid = sample(step.grid, grid, padding="border")
    return grid
