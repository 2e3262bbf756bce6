"""Grids of vectors at another size, by bicubic interpolation."""

import numpy as np
from keras import ops

CUBIC, SMOOTH_CUBIC = -0.75, -0.5
"""a of the cubic kernel, the slope at distance 1; torch's without and with antialiasing."""


def bicubic_matrix(old, new, antialias=False):
    """Interpolation matrix from `old` to `new` equally wide cells of the same interval.

    Cell j's center lies at x = (j + ½) · old / new − ½, counted in old cells (half-pixel centers).
    It interpolates the four cells nearest to x, clamped at the borders, with Keys' cubic weights,
    a = −¾. Downsampling is not smoothed. With antialiasing the kernel, a = −½, is as many times
    wider as there are fewer cells, and its weights inside the interval are divided by their sum.

    Args:
        old: int > 0.
        new: int > 0.
        antialias: bool.

    Returns:
        NumPy float32 (new, old); rows sum to 1; the identity for new = old.

    Example:
        >>> bicubic_matrix(2, 2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]

    Source: Keys 1981, doi:10.1109/TASSP.1981.1163711; equals torch's interpolate(mode="bicubic",
    align_corners=False), also with antialias=True.
    """
    if antialias and old != new:
        return _smooth_matrix(old, new)
    centers = (np.arange(new) + 0.5) * old / new - 0.5
    nearest = np.floor(centers).astype(int)
    matrix = np.zeros((new, old))
    for tap in (-1, 0, 1, 2):
        places = np.clip(nearest + tap, 0, old - 1)
        np.add.at(matrix, (np.arange(new), places), _cubic(np.abs(centers - nearest - tap), CUBIC))
    return matrix.astype("float32")


def _smooth_matrix(old, new):
    """`bicubic_matrix` with antialiasing."""
    centers = (np.arange(new) + 0.5) * old / new - 0.5
    distances = np.abs(np.arange(old) - centers[:, None]) / max(old / new, 1.0)
    matrix = np.where(distances < 2, _cubic(distances, SMOOTH_CUBIC), 0.0)
    return (matrix / matrix.sum(axis=1, keepdims=True)).astype("float32")


def _cubic(distance, slope):
    """Keys' kernel at distances of at most 2."""
    near = ((slope + 2) * distance - (slope + 3)) * distance**2 + 1
    far = slope * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, far)


def resample_grid(grid, height, width, antialias=False):
    """A grid of vectors at another size, see `bicubic_matrix`.

    Args:
        grid: float (old height, old width, D).
        height: int > 0.
        width: int > 0.
        antialias: bool.

    Returns:
        float (height, width, D), the grid's dtype; the grid itself where the size is its own.

    Example:
        >>> tuple(resample_grid(ops.ones((3, 5, 7)), 11, 13).shape)
        (11, 13, 7)
    """
    grid = ops.convert_to_tensor(grid)
    old_height, old_width, _ = grid.shape
    if (height, width) == (old_height, old_width):
        return grid
    rows, columns = (
        ops.cast(bicubic_matrix(old, new, antialias), grid.dtype)
        for old, new in ((old_height, height), (old_width, width))
    )
    return ops.einsum("hr,wc,rcd->hwd", rows, columns, grid)
