"""Pictures read at the points of a grid."""

import keras
from keras import ops

from keras_attn.ops.take_by_row import take_by_row

BILINEAR, NEAREST = "bilinear", "nearest"
INTERPOLATIONS = (BILINEAR, NEAREST)
ZEROS, BORDER, REFLECTION = "zeros", "border", "reflection"
PADDINGS = (ZEROS, BORDER, REFLECTION)
ROUNDING = 2.0**-22


def sample(images, grid, interpolation=BILINEAR, padding=ZEROS, align_corners=False):
    """Reads every picture at its points.

        V(x, y) = Σ_n Σ_m U[n, m] max(0, 1 − |x − m|) max(0, 1 − |y − n|)

    Args:
        images: float (B, H, W, C), H and W ≥ 2. U.
        grid: float (B, height, width, 2), points as in `sampling_grids`. Computed in float32.
        interpolation: "bilinear", as above, or "nearest", the nearest pixel, of two the even one;
            that has no gradient to the grid.
        padding: what lies outside the picture: "zeros"; "border", its outermost pixels; or
            "reflection", the picture mirrored at its edges, or at the centers of its outermost
            pixels with `align_corners`.
        align_corners: bool. Whether −1 and 1 are the centers of the outermost pixels, instead of
            their outer edges.

    Returns:
        (B, height, width, C), the images' dtype. A point that is no number lies outside; with
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
    images, grid = _checked(images, grid, interpolation, padding)
    _, height, width, channels = images.shape
    points = ops.reshape(ops.cast(grid, "float32"), (-1, grid.shape[1] * grid.shape[2], 2))
    columns, rows = (
        _places(points[..., axis], size, padding, align_corners)
        for axis, size in ((0, width), (1, height))
    )
    if padding == ZEROS:
        images = ops.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
        columns, rows = columns + 1.0, rows + 1.0
    pixels = ops.reshape(images, (-1, images.shape[1] * images.shape[2], channels))
    read = _nearest if interpolation == NEAREST else _bilinear
    found = read(pixels, columns, rows, images.shape[1], images.shape[2])
    return ops.reshape(found, (-1, *grid.shape[1:3], channels))


def _bilinear(pixels, columns, rows, height, width):
    """(B, N, C) from pixels (B, H·W, C) at places (B, N) inside the picture."""
    left, top = (
        ops.minimum(ops.floor(ops.stop_gradient(place)), float(size - 2))
        for place, size in ((columns, width), (rows, height))
    )
    right_share, low_share = columns - left, rows - top
    index = ops.cast(top, "int32") * width + ops.cast(left, "int32")
    found = 0.0
    for below, vertical in ((0, 1.0 - low_share), (1, low_share)):
        for beside, horizontal in ((0, 1.0 - right_share), (1, right_share)):
            corner = take_by_row(pixels, index + (below * width + beside))
            found = found + ops.cast(corner, "float32") * (vertical * horizontal)[..., None]
    return ops.cast(found, pixels.dtype)


def _nearest(pixels, columns, rows, height, width):
    """As `_bilinear`, the nearest pixel alone."""
    index = ops.cast(ops.round(rows), "int32") * width + ops.cast(ops.round(columns), "int32")
    return take_by_row(pixels, index)


def _places(points, size, padding, align_corners):
    """Points along one axis as places in pixels inside the picture; one pixel more with "zeros".

    Those on the rim of what is read have no gradient.
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


def check_choice(name, value, known):
    """Raises ValueError unless `value` is one of the known."""
    if value not in known:
        raise ValueError(f"Expected {name} in {known}. Received: {name}={value!r}")


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
