"""A small convolutional image encoder to train from scratch."""

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.allow_empty_batch import allow_empty_batch


@keras.saving.register_keras_serializable(package="keras_attn")
class SmallConvEncoder(BaseLayer):
    """A small CNN for drawn scenes, whose stages downsample the grid.

    The first stage is a strided convolution. Every other one is a convolution of stride 1, a layer
    normalization over the features of one cell and a max pooling, which tells shapes apart wherever
    their edges lie in a cell. Each stage ends with a ReLU. A picture's features depend neither on
    the rest of the batch nor on the number of replicas.

    Args:
        filters: ints > 0, one per stage. The last is F.
        strides: ints > 0, one per stage. The strided convolution has a kernel of 2 · stride pixels,
            so neighboring fields overlap by half.
        kernel_size: int > 0, cells, of the other convolutions.
        coordinates: bool. Whether features encode positions: the last convolution gets two more
            channels with a cell's vertical and horizontal position in (-1, 1), and a linear map of
            the position is added to the final grid. Convolutions alone hardly encode the positions
            that "left of" and "above" need.

    Call arguments:
        images: uint8 or float (B, height, width, C), pixels in 0..255.

    Returns:
        features: float (B, grid height, grid width, F), compute dtype; a stage of stride s makes
            ceil(n / s) cells of n: 8 x 8 for 64 x 64 pixels and the default strides.

    Raises:
        ValueError: no filters, not one stride for each, or a size < 1.

    Example:
        >>> features = SmallConvEncoder((5, 7), (2, 2))(ops.zeros((2, 13, 11, 3)))
        >>> tuple(features.shape)
        (2, 4, 3, 7)

    Source: coordinates as in CoordConv, Liu et al. 2018, arXiv:1807.03247. Differs: the part of
    the convolution that sees them is one of its own, run once for the batch and added; the last
    map.
    """

    def __init__(
        self, filters=(16, 32, 64), strides=(2, 2, 2), kernel_size=3, coordinates=True, **kwargs
    ):
        super().__init__(autocast=False, **kwargs)
        if not filters or len(filters) != len(strides) or min(*filters, *strides, kernel_size) < 1:
            raise ValueError(
                "Expected at least one stage, a stride for each of filters, and all of them and "
                f"kernel_size >= 1. Received: filters={filters}, strides={strides}, "
                f"kernel_size={kernel_size}"
            )
        self.filters, self.strides = tuple(filters), tuple(strides)
        self.kernel_size = kernel_size
        self.coordinates = coordinates
        last = len(filters) - 1
        self._stages = [
            _Stage(
                width,
                kernel_size if place else 2 * stride,
                stride,
                pooled=place > 0,
                coordinates=coordinates and place == last,
                dtype=self.dtype_policy,
            )
            for place, (width, stride) in enumerate(zip(filters, strides))
        ]
        self._locate = None
        if coordinates:
            self._locate = keras.layers.Dense(
                self.filters[-1],
                use_bias=False,
                kernel_initializer=keras.initializers.RandomNormal(stddev=1.0),
                dtype=self.dtype_policy,
            )

    def build(self, input_shape):
        for stage in self._stages:
            stage.build(input_shape)
            stage.trainable = self.trainable  # Keras hands on changes of the flag only.
            input_shape = stage.compute_output_shape(input_shape)
        if self._locate:
            self._locate.build((1, None, None, 2))
            self._locate.trainable = self.trainable

    def call(self, images):
        return allow_empty_batch(self._encode, images)

    def _encode(self, images):
        pixels = ops.cast(images, "float32") / 127.5 - 1.0
        features = ops.cast(pixels, self.compute_dtype)
        for stage in self._stages:
            features = stage(features)
        return _located(features, features, self._locate)

    def compute_output_shape(self, input_shape):
        for stage in self._stages:
            input_shape = stage.compute_output_shape(input_shape)
        return input_shape


class _Stage(keras.layers.Layer):
    """A convolution with the stride, or with a normalization and a max pooling that has it."""

    def __init__(self, filters, kernel_size, stride, pooled, coordinates, **kwargs):
        super().__init__(**kwargs)
        settings = {"padding": "same", "data_format": "channels_last", "dtype": self.dtype_policy}
        sizes = {"filters": filters, "kernel_size": kernel_size, "kernel_initializer": "he_normal"}
        sizes = {**settings, **sizes, "strides": 1 if pooled else stride}
        self._convolve = keras.layers.Conv2D(**sizes)
        self._locate = keras.layers.Conv2D(use_bias=False, **sizes) if coordinates else None
        self._normalize = self._pool = None
        if pooled:
            self._normalize = keras.layers.LayerNormalization(epsilon=1e-5, dtype=self.dtype_policy)
            self._pool = keras.layers.MaxPooling2D(stride, **settings)

    def build(self, input_shape):
        self._convolve.build(input_shape)
        if self._locate:
            self._locate.build((1, None, None, 2))
        if self._normalize:
            self._normalize.build(self._convolve.compute_output_shape(input_shape))

    def call(self, inputs):
        features = _located(self._convolve(inputs), inputs, self._locate)
        return ops.relu(self._pool(self._normalize(features)) if self._pool else features)

    def compute_output_shape(self, input_shape):
        shape = self._convolve.compute_output_shape(input_shape)
        return self._pool.compute_output_shape(shape) if self._pool else shape


def _located(features, grid, locate):
    """Features with `locate` of the places of a grid's cells added, if there is such a layer."""
    if locate is None:
        return features
    _, height, width, _ = ops.shape(grid)
    return features + locate(_places(height, width))


def _places(height, width):
    """float32 (1, height, width, 2): vertical and horizontal position of each cell's center."""
    grids = ops.meshgrid(_centers(height), _centers(width), indexing="ij")
    return ops.stack(grids, axis=-1)[None]


def _centers(count):
    """float32 (count,): the centers of `count` equal cells of the interval (-1, 1)."""
    cells = ops.cast(ops.arange(count), "float32")
    return (2.0 * cells + 1.0) / ops.cast(count, "float32") - 1.0
