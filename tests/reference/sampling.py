"""Slow twins of sampling, after the paper's sums over all pixels (arXiv:1506.02025, (5) to (7))."""

import numpy as np


def places(grid, height, width, align_corners):
    """Points (..., 2) as places in pixels, x and y."""
    x, y = grid[..., 0], grid[..., 1]
    if align_corners:
        return (x + 1) * (width - 1) / 2, (y + 1) * (height - 1) / 2
    return ((x + 1) * width - 1) / 2, ((y + 1) * height - 1) / 2


def lecture_sample(images, grid, align_corners):
    """V = Σ_n Σ_m U[n, m] max(0, 1 − |x − m|) max(0, 1 − |y − n|), with zeros outside."""
    batch, height, width, channels = images.shape
    output = np.zeros((*grid.shape[:3], channels))
    for example in range(batch):
        xs, ys = places(grid[example].astype("float64"), height, width, align_corners)
        for place in np.ndindex(xs.shape):
            for n in range(height):
                for m in range(width):
                    weight = max(0, 1 - abs(xs[place] - m)) * max(0, 1 - abs(ys[place] - n))
                    output[(example, *place)] += images[example, n, m] * weight
    return output


def lecture_gradients(images, grid, upstream, align_corners):
    """∂/∂U and ∂/∂(x, y) of Σ upstream · V, by the paper's sub-gradients."""
    batch, height, width, _ = images.shape
    to_images, to_grid = np.zeros(images.shape), np.zeros(grid.shape)
    slope_x = (width - 1) / 2 if align_corners else width / 2
    slope_y = (height - 1) / 2 if align_corners else height / 2
    for example in range(batch):
        xs, ys = places(grid[example].astype("float64"), height, width, align_corners)
        for place in np.ndindex(xs.shape):
            x, y, up = xs[place], ys[place], upstream[(example, *place)]
            for n in range(height):
                for m in range(width):
                    across, down = max(0, 1 - abs(x - m)), max(0, 1 - abs(y - n))
                    to_images[example, n, m] += up * across * down
                    value = float(up @ images[example, n, m])
                    sign_x = 0 if abs(m - x) >= 1 else (1 if m >= x else -1)
                    sign_y = 0 if abs(n - y) >= 1 else (1 if n >= y else -1)
                    to_grid[(example, *place, 0)] += value * down * sign_x * slope_x
                    to_grid[(example, *place, 1)] += value * across * sign_y * slope_y
    return to_images, to_grid
