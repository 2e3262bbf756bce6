"""Sampling of pictures at the points of a grid."""

import keras
from keras import ops

from keras_attn.checks import check_choice
from keras_attn.ops.fraction import fraction
from keras_attn.ops.take_by_row import take_by_row

BILINEAR, NEAREST = "bilinear", "nearest"
INTERPOLATIONS = (BILINEAR, NEAREST)
ZEROS, BORDER, REFLECTION = "zeros", "border", "reflection"
PADDINGS = (ZEROS, BORDER, REFLECTION)
ROUNDING = 2.0**-22
NARROW = 8
"""Channels up to which gradients are added to four neighbors at once, on TensorFlow."""


def sample(images, grid, interpolation=BILINEAR, padding=ZEROS, align_corners=False):
    """Samples each picture at the points of its grid.

        V(x, y) = Σ_n Σ_m U[n, m] max(0, 1 − |x − m|) max(0, 1 − |y − n|)

    Args:
        images: float (B, H, W, C), H and W ≥ 2. U; computed in float32.
        grid: float (B, height, width, 2), points as in `sampling_grids`. Computed in float32.
        interpolation: "bilinear", as above, or "nearest", the nearest pixel, of two the even one;
            that has no gradient to the grid.
        padding: what lies outside the picture: "zeros"; "border", its outermost pixels; or
            "reflection", the picture mirrored at its edges, or at the centers of its outermost
            pixels with `align_corners`.
        align_corners: bool. Whether −1 and 1 are the centers of the outermost pixels, instead of
            their outer edges.

    Returns:
        (B, height, width, C), the images' dtype. A point that is NaN lies outside; with
        "border" and "reflection" it reads the first pixel.

    Raises:
        ValueError: images that are integers, of another rank or smaller than 2 × 2; a grid of
            another shape or batch; another interpolation or padding.

    Example:
        >>> images = ops.reshape(ops.arange(4, dtype="float32"), (1, 2, 2, 1))
        >>> float(sample(images, ops.zeros((1, 1, 1, 2)))[0, 0, 0, 0])
        1.5

    Source: Jaderberg et al. 2015, arXiv:1506.02025, 3.3; equals torch's grid_sample. A place that
    is an integer but for rounding counts as that integer, and has the gradient of its right side.
    """
    if any(isinstance(tensor, keras.KerasTensor) for tensor in (images, grid)):
        return Sample(interpolation, padding, align_corners)(images, grid)
    images, grid = _checked(images, grid, interpolation, padding)
    _, height, width, channels = images.shape
    points = ops.reshape(ops.cast(grid, "float32"), (-1, grid.shape[1] * grid.shape[2], 2))
    columns, rows = (
        _places(numbers, size, padding, align_corners)
        for numbers, size in zip(ops.unstack(points, axis=-1), (width, height))
    )
    if interpolation == NEAREST:
        columns, rows = ops.round(columns), ops.round(rows)
    before = 1 if padding == ZEROS else 0
    columns, rows = columns + before, rows + before
    # With one more pixel behind the last, every place has a right and a lower neighbor.
    around = (before, before + 1)
    images = ops.pad(images, ((0, 0), around, around, (0, 0)))
    pixels = ops.reshape(images, (-1, images.shape[1] * images.shape[2], channels))
    read = _nearest if interpolation == NEAREST else _bilinear
    output = read(pixels, columns, rows, images.shape[2])
    return ops.reshape(output, (-1, *grid.shape[1:3], channels))


@keras.saving.register_keras_serializable(package="keras_attn")
class Sample(keras.Operation):
    """`sample` as an operation of functional models, with its options as arguments."""

    def __init__(self, interpolation=BILINEAR, padding=ZEROS, align_corners=False, *, name=None):
        super().__init__(name=name)
        self.choices = interpolation, padding, align_corners

    def call(self, images, grid):
        return sample(images, grid, *self.choices)

    def compute_output_spec(self, images, grid):
        images, grid = _checked(images, grid, *self.choices[:2])
        return keras.KerasTensor((*grid.shape[:3], images.shape[-1]), dtype=images.dtype)


def _bilinear(pixels, columns, rows, width):
    """(B, N, C) from pixels (B, H·W, C) at places (B, N) before the last row and column."""
    index = _index(columns, rows, width)
    right, low = fraction(columns), fraction(rows)
    by_fours = keras.backend.backend() == "tensorflow" and pixels.shape[-1] <= NARROW
    read = _read_by_fours if by_fours else _read
    return read(pixels, index, right, low, width)


def _corners(pixels, index, width):
    """The four pixels from `index` on, row by row: float32 (B, N, C) each."""
    return [ops.cast(take_by_row(pixels, index + place), "float32") for place in _neighbors(width)]


def _neighbors(width):
    return 0, 1, width, width + 1


def _shares(right, low):
    """Of the four pixels, (B, N, 1) each."""
    return [
        (vertical * horizontal)[..., None]
        for vertical in (1.0 - low, low)
        for horizontal in (1.0 - right, right)
    ]


def _read(pixels, index, right, low, width):
    """The four pixels from `index` on, each by its share: (B, N, C)."""
    corners, shares = _corners(pixels, index, width), _shares(right, low)
    return ops.cast(sum(map(ops.multiply, corners, shares)), pixels.dtype)


def _read_by_fours(pixels, index, right, low, width):
    """As `_read`, with a gradient that adds the four neighbors at once: for few channels faster."""
    (batch, places), channels = ops.shape(pixels)[:2], pixels.shape[-1]

    @ops.custom_gradient
    def read(pixels, right, low):
        corners, shares = _corners(pixels, index, width), _shares(right, low)

        def gradient(upstream):
            upstream = ops.cast(upstream, "float32")
            first, second, third, fourth = (ops.sum(upstream * corner, -1) for corner in corners)
            to_right = (second - first) * (1.0 - low) + (fourth - third) * low
            to_low = (third - first) * (1.0 - right) + (fourth - second) * right
            added = ops.concatenate([upstream * share for share in shares], axis=-1)
            fours = ops.segment_sum(
                ops.reshape(added, (-1, 4 * channels)),
                ops.reshape(index + ops.arange(batch, dtype="int32")[:, None] * places, (-1,)),
                batch * places,
            )
            to_pixels = sum(
                ops.pad(part[: batch * places - place], ((place, 0), (0, 0)))
                for part, place in zip(ops.split(fours, 4, axis=-1), _neighbors(width))
            )
            to_pixels = ops.reshape(to_pixels, (-1, places, channels))
            return ops.cast(to_pixels, pixels.dtype), to_right, to_low

        return ops.cast(sum(map(ops.multiply, corners, shares)), pixels.dtype), gradient

    return read(pixels, right, low)


def _nearest(pixels, columns, rows, width):
    """As `_bilinear`, the one pixel of places that are integers."""
    return take_by_row(pixels, _index(columns, rows, width))


def _index(columns, rows, width):
    """int32 (B, N): the pixels whose upper left corners are those of the places ≥ 0."""
    return ops.cast(rows, "int32") * width + ops.cast(columns, "int32")


def _places(points, size, padding, align_corners):
    """Points along one axis as places in pixels inside the picture; one pixel more with "zeros".

    Clamped points have no gradient.
    """
    half = (size - 1) / 2 if align_corners else size / 2
    places = points * half + (size - 1) / 2
    if padding == REFLECTION:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        places = ops.mod(places - low, 2 * span)
        places = ops.where(places > span, 2 * span - places, places) + low
    nearest = ops.stop_gradient(ops.round(places))
    places = places + ops.where(
        ops.stop_gradient(ops.abs(places - nearest)) < size * ROUNDING,
        ops.stop_gradient(nearest - places),
        0.0,
    )
    first, last = (-1.0, float(size)) if padding == ZEROS else (0.0, size - 1.0)
    inside = places >= first if padding == ZEROS else places > first
    return ops.where(inside, ops.where(places < last, places, last), first)


def _checked(images, grid, interpolation, padding):
    """The two as tensors.

    Raises:
        ValueError: as `sample`.
    """
    images, grid = ops.convert_to_tensor(images), ops.convert_to_tensor(grid)
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    check_choice("padding", padding, PADDINGS)
    shape = tuple(images.shape)
    if len(shape) != 4 or None in shape[1:] or min(shape[1:3]) < 2:
        raise ValueError(
            "Expected images (B, height, width, channels) of at least 2 x 2 pixels, the size "
            f"known. Received: shape={shape}"
        )
    if "float" not in keras.backend.standardize_dtype(images.dtype):
        raise ValueError(
            "Expected images of floats, such as pixels / 255. "
            f"Received: dtype={keras.backend.standardize_dtype(images.dtype)}"
        )
    wanted = tuple(grid.shape)
    if len(wanted) != 4 or wanted[-1] != 2 or None in wanted[1:] or 0 in wanted[1:3]:
        raise ValueError(
            "Expected a grid (B, height, width, 2) of at least one point, the size known. "
            f"Received: shape={wanted}"
        )
    if None not in (shape[0], wanted[0]) and shape[0] != wanted[0]:
        raise ValueError(
            f"Expected as many grids as images, {shape[0]}. Received: {wanted[0]} grids"
        )
    return images, grid
