"""A small convolutional image encoder to train from scratch."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_attn")
class SmallConvEncoder(keras.layers.Layer):
    """A small CNN for drawn scenes: every stage halves the picture, then refines its grid.

    A stage is a convolution of stride 2, then one of stride 1 around which a shortcut runs. Each
    is followed by a layer normalization over the features of one cell and a ReLU, so a picture's
    features depend neither on the rest of the batch nor on the number of replicas.

    Args:
        filters: ints > 0, one a stage. The last is F.
        kernel_size: int > 0, pixels.
        coordinates: bool. Whether each stage's first convolution also sees where it is: two more
            channels with a cell's vertical and horizontal place in (-1, 1). Convolutions
            alone hardly know the place that "left of" and "above" need.

    Call arguments:
        images: uint8 or float (B, height, width, C), pixels in 0..255.

    Returns:
        features: float (B, ceil(height / 2^n), ceil(width / 2^n), F) for n stages, compute
            dtype: 8 x 8 cells for 64 x 64 pixels and the default three stages.

    Raises:
        ValueError: no filters, or a size < 1.

    Example:
        >>> features = SmallConvEncoder((5, 7))(ops.zeros((2, 13, 11, 3)))
        >>> tuple(features.shape)
        (2, 4, 3, 7)

    Source: coordinates as in CoordConv, Liu et al. 2018, arXiv:1807.03247. Differs: the part of
    the convolution that sees them is one of its own, run once for the batch and added.
    """

    def __init__(self, filters=(16, 32, 64), kernel_size=3, coordinates=True, **kwargs):
        super().__init__(autocast=False, **kwargs)
        if not filters or min(*filters, kernel_size) < 1:
            raise ValueError(
                "Expected at least one stage, and filters and kernel_size >= 1. "
                f"Received: filters={filters}, kernel_size={kernel_size}"
            )
        self.filters = tuple(filters)
        self.kernel_size = kernel_size
        self.coordinates = coordinates
        self._stages = [
            _Stage(width, kernel_size, coordinates, dtype=self.dtype_policy) for width in filters
        ]

    def build(self, input_shape):
        for stage in self._stages:
            stage.build(input_shape)
            stage.trainable = self.trainable  # Keras hands on changes of the flag only.
            input_shape = stage.compute_output_shape(input_shape)

    def call(self, images):
        pixels = ops.cast(images, "float32") / 127.5 - 1.0
        features = ops.cast(pixels, self.compute_dtype)
        for stage in self._stages:
            features = stage(features)
        return features

    def compute_output_shape(self, input_shape):
        for stage in self._stages:
            input_shape = stage.compute_output_shape(input_shape)
        return input_shape

    def get_config(self):
        return {
            **super().get_config(),
            "filters": list(self.filters),
            "kernel_size": self.kernel_size,
            "coordinates": self.coordinates,
        }


class _Stage(keras.layers.Layer):
    """Halves the grid, with the places' part added, then adds a refinement of the same size."""

    def __init__(self, filters, kernel_size, coordinates, **kwargs):
        super().__init__(**kwargs)
        settings = {
            "filters": filters,
            "kernel_size": kernel_size,
            "padding": "same",
            "data_format": "channels_last",
            "kernel_initializer": "he_normal",
            "dtype": self.dtype_policy,
        }
        self._halve = keras.layers.Conv2D(strides=2, **settings)
        self._locate = (
            keras.layers.Conv2D(strides=2, use_bias=False, **settings) if coordinates else None
        )
        self._refine = keras.layers.Conv2D(**settings)
        self._halve_norm, self._refine_norm = (
            keras.layers.LayerNormalization(epsilon=1e-5, dtype=self.dtype_policy) for _ in range(2)
        )

    def build(self, input_shape):
        output_shape = self.compute_output_shape(input_shape)
        self._halve.build(input_shape)
        if self._locate:
            self._locate.build((1, None, None, 2))
        self._refine.build(output_shape)
        self._halve_norm.build(output_shape)
        self._refine_norm.build(output_shape)

    def call(self, inputs):
        halved = self._halve(inputs)
        if self._locate:
            _, height, width, _ = ops.shape(inputs)
            halved = halved + self._locate(_places(height, width))
        halved = ops.relu(self._halve_norm(halved))
        return halved + ops.relu(self._refine_norm(self._refine(halved)))

    def compute_output_shape(self, input_shape):
        return self._halve.compute_output_shape(input_shape)


def _places(height, width):
    """float32 (1, height, width, 2): how far down and how far right each cell's center lies."""
    rows = ops.broadcast_to(_centers(height)[:, None], (height, width))
    columns = ops.broadcast_to(_centers(width)[None, :], (height, width))
    return ops.stack([rows, columns], axis=-1)[None]


def _centers(count):
    """float32 (count,): the centers of `count` equal cells of the interval (-1, 1)."""
    cells = ops.cast(ops.arange(count), "float32")
    return (2.0 * cells + 1.0) / ops.cast(count, "float32") - 1.0
