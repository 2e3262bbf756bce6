"""A small convolutional image encoder to train from scratch."""

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.allow_empty_batch import allow_empty_batch


@keras.saving.register_keras_serializable(package="keras_attn")
class SmallConvEncoder(BaseLayer):
    """A small CNN for drawn scenes; every stage downsamples the grid, then refines it.

    A stage is a strided convolution, then one of stride 1 with a shortcut. Each is followed by a
    layer normalization over the features of one cell and a ReLU, so a picture's features depend
    neither on the rest of the batch nor on the number of replicas.

    Args:
        filters: ints > 0, one per stage. The last is F.
        strides: ints > 0, one per stage. A strided convolution has a kernel of 2 · stride pixels,
            so neighboring fields overlap by half.
        kernel_size: int > 0, cells, of the refining convolution.
        coordinates: bool. Whether features encode positions: each stage's strided convolution gets
            two more channels with a cell's vertical and horizontal position in (-1, 1), and a
            linear map of the position is added to the final grid. Convolutions alone hardly encode
            the positions that "left of" and "above" need.

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

    def __init__(self, filters=(32, 64), strides=(4, 2), kernel_size=3, coordinates=True, **kwargs):
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
        self._stages = [
            _Stage(width, stride, kernel_size, coordinates, dtype=self.dtype_policy)
            for width, stride in zip(filters, strides)
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
    """A strided convolution, with the positions' part added, then a residual refinement."""

    def __init__(self, filters, stride, kernel_size, coordinates, **kwargs):
        super().__init__(**kwargs)
        settings = {
            "padding": "same",
            "data_format": "channels_last",
            "kernel_initializer": "he_normal",
            "dtype": self.dtype_policy,
        }
        coarser = {**settings, "strides": stride}
        self._reduce = keras.layers.Conv2D(filters, 2 * stride, **coarser)
        self._locate = None
        if coordinates:
            self._locate = keras.layers.Conv2D(filters, 2 * stride, use_bias=False, **coarser)
        self._refine = keras.layers.Conv2D(filters, kernel_size, **settings)
        self._reduce_norm, self._refine_norm = (
            keras.layers.LayerNormalization(epsilon=1e-5, dtype=self.dtype_policy) for _ in range(2)
        )

    def build(self, input_shape):
        output_shape = self.compute_output_shape(input_shape)
        self._reduce.build(input_shape)
        if self._locate:
            self._locate.build((1, None, None, 2))
        self._refine.build(output_shape)
        self._reduce_norm.build(output_shape)
        self._refine_norm.build(output_shape)

    def call(self, inputs):
        reduced = _located(self._reduce(inputs), inputs, self._locate)
        reduced = ops.relu(self._reduce_norm(reduced))
        return reduced + ops.relu(self._refine_norm(self._refine(reduced)))

    def compute_output_shape(self, input_shape):
        return self._reduce.compute_output_shape(input_shape)


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
