"""The spatial transformer."""

import functools
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_choice
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.layers.transforms import Transform
from keras_attn.ops.allow_empty_batch import allow_empty_batch
from keras_attn.ops.sample import BILINEAR, INTERPOLATIONS, PADDINGS, ZEROS, sample
from keras_attn.ops.sampling_grids import target_points

CHANNELS = ("channels_last", "channels_first")


class Transformed(NamedTuple):
    """The outputs of a `SpatialTransformer`.

    Attributes:
        images: (B, height, width, C), or (B, C, height, width), compute dtype.
        theta: float32 (B, parameters of the transform).
        grid: float32 (B, height, width, 2), points as in `sampling_grids`.
    """

    images: Any
    theta: Any
    grid: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class SpatialTransformer(BaseLayer):
    """Predicts a transform from a picture and samples the picture through it.

        θ = θ_0 + W f(U) + b,  V = sample(U, T_θ(G))

    θ_0 is the identity by default and W and b are initialized with 0, so the layer starts as the
    identity (or a resize, with `output_size`). It learns by the gradient through the sampling grid.
    It also takes feature maps, and can be used at any depth and any number of times.

    Args:
        localization: Keras layer or model, f, without a layer for θ: its output (B, …) is
            flattened; W and b belong to this layer, in float32. Layers may share one.
        transform: `Transform`, such as `Affine()` or `ThinPlateSpline(4, 4)`.
        output_size: (height, width) in pixels, or None for the images' own.
        interpolation: "bilinear" or "nearest", see `sample`; "nearest" has no gradient to θ.
        padding: "zeros", "border" or "reflection", see `sample`.
        align_corners: bool. Whether −1 and 1 are the centers of the outermost pixels.
        learned_grid: bool. Whether the points G, initialized with the output's pixels, are weights.
        bound: float, 1e-6 to 1e6, or None. θ = θ_0 + bound · tanh((W f(U) + b) / bound) instead,
            at most this far from θ_0 in each number: half sides of a picture where it is a place or
            a shift, radians where it is an angle, else factors.
        kernel_initializer: Keras initializer of W; by default θ begins at θ_0.
        data_format: "channels_last" or "channels_first"; None is Keras' setting.
        return_grid: bool. Whether the call returns `Transformed`.
        initial_theta: float (parameters of the transform,). θ_0, such as `Affine().rotation(0.5)`.
            Default: the identity.

    Call arguments:
        images: float (B, H, W, C), or (B, C, H, W); H and W ≥ 2, known when the layer is built.
        training: bool, for f.

    Returns:
        (B, height, width, C), or (B, C, height, width), compute dtype; `Transformed` with
        `return_grid`. Coordinates are computed in float32 in any precision.

    Raises:
        ValueError: not a `Transform`; an initial θ of another length, or not finite; an unknown
            interpolation, padding or data format; a size < 1; a bound ≤ 0; images that `sample`
            rejects.

    Example:
        >>> from keras_attn.layers.transforms import Affine
        >>> f = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "relu")])
        >>> layer = SpatialTransformer(f, Affine(), output_size=(3, 7))
        >>> tuple(layer(ops.ones((2, 11, 13, 5))).shape)
        (2, 3, 7, 5)

    Source: Jaderberg et al. 2015, arXiv:1506.02025, 3. Differs: θ is θ_0 plus a learned offset, so
    that weight decay or a bound pulls it towards the start.
    """

    def __init__(
        self,
        localization,
        transform,
        output_size=None,
        interpolation=BILINEAR,
        padding=ZEROS,
        align_corners=False,
        learned_grid=False,
        bound=None,
        kernel_initializer="zeros",
        data_format=None,
        return_grid=False,
        initial_theta=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(transform, Transform):
            raise ValueError(
                "Expected a Transform, such as Affine() or ThinPlateSpline(4, 4). "
                f"Received: transform={transform!r}"
            )
        if not isinstance(localization, keras.layers.Layer):
            raise ValueError(
                f"Expected a layer or a model. Received: localization={localization!r}"
            )
        data_format = data_format or keras.config.image_data_format()
        check_choice("interpolation", interpolation, INTERPOLATIONS)
        check_choice("padding", padding, PADDINGS)
        check_choice("data_format", data_format, CHANNELS)
        if bound is not None and not (isinstance(bound, (int, float)) and 1e-6 <= bound <= 1e6):
            raise ValueError(
                f"Expected a bound between 1e-6 and 1e6, or None. Received: bound={bound!r}"
            )
        if initial_theta is not None:
            initial_theta = _finite_numbers(initial_theta, transform.parameters)
        if output_size is not None:
            if not isinstance(output_size, (tuple, list)) or len(output_size) != 2:
                raise ValueError(
                    f"Expected (height, width) or None. Received: output_size={output_size!r}"
                )
            target_points(*output_size)  # Raises for invalid sizes.
        self.localization, self.transform = localization, transform
        self.output_size = None if output_size is None else tuple(output_size)
        self.interpolation, self.padding = interpolation, padding
        self.align_corners, self.learned_grid = bool(align_corners), bool(learned_grid)
        self.bound, self.data_format, self.return_grid = bound, data_format, bool(return_grid)
        self.initial_theta = initial_theta
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.head = keras.layers.Dense(
            transform.parameters,
            kernel_initializer=self.kernel_initializer,
            name="head",
            dtype="float32",
        )
        self.flatten = keras.layers.Flatten(name="flatten", dtype="float32")

    def build(self, images_shape):
        channels = images_shape[-1 if self.data_format == CHANNELS[0] else 1]
        sizes = (*self._size(images_shape), channels)
        if None in sizes or min(sizes[:2]) < 2:
            raise ValueError(
                "Expected images of at least 2 x 2 pixels, size and channels known. "
                f"Received: shape={tuple(images_shape)}"
            )
        features = self.localization(keras.KerasTensor(images_shape, dtype=self.compute_dtype))
        self.head.build((None, int(np.prod(features.shape[1:]))))
        if self.learned_grid:
            points = self._target(images_shape)
            self.points = self.add_weight(
                shape=points.shape,
                initializer=lambda shape, dtype=None: ops.convert_to_tensor(points, dtype),
                name="points",
                dtype="float32",
                autocast=False,
            )

    def _size(self, images_shape):
        """Height and width of the images."""
        first = 1 if self.data_format == CHANNELS[0] else 2
        return tuple(images_shape[first : first + 2])

    def _target(self, images_shape):
        """The output's pixels, NumPy (height, width, 2)."""
        size = self.output_size or self._size(images_shape)
        return target_points(*size, self.align_corners)

    def call(self, images, training=None):
        theta = self._theta(images, training)
        points = self.points if self.learned_grid else self._target(images.shape)
        grid = self.transform.grid(theta, points)
        read = sample(
            self._moved(images, -1), grid, self.interpolation, self.padding, self.align_corners
        )
        transformed = Transformed(self._moved(read, 1), theta, grid)
        return transformed if self.return_grid else transformed.images

    def _theta(self, images, training):
        """float32 (B, parameters)."""
        localize = functools.partial(self.localization, training=training)
        chosen = self.head(self.flatten(allow_empty_batch(localize, images)))
        if self.bound is not None:
            chosen = self.bound * ops.tanh(chosen / self.bound)
        start = self.transform.identity() if self.initial_theta is None else self.initial_theta
        return ops.add(np.array(start, "float32"), chosen)

    def _moved(self, images, axis):
        """With "channels_first", moves the channels to the end or back to axis 1."""
        if self.data_format == CHANNELS[0]:
            return images
        return ops.moveaxis(images, 1 if axis == -1 else -1, axis)

    def compute_output_shape(self, images_shape):
        points = self.points if self.learned_grid and self.built else self._target(images_shape)
        height, width = points.shape[:2]
        if self.data_format == CHANNELS[0]:
            images = (images_shape[0], height, width, images_shape[-1])
        else:
            images = (images_shape[0], images_shape[1], height, width)
        if not self.return_grid:
            return images
        batch = images_shape[0]
        return Transformed(images, (batch, self.transform.parameters), (batch, height, width, 2))

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)


def _finite_numbers(values, count):
    """θ as a tuple of floats."""
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if len(numbers) != count or not np.all(np.isfinite(numbers)):
        raise ValueError(
            f"Expected an initial theta of {count} finite numbers. "
            f"Received: initial_theta={values!r}"
        )
    return tuple(numbers.tolist())
