"""Pictures under a heat map of attention."""

import numpy as np

from keras_attn.extras import extra

with extra("pictures"):
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from PIL import Image

COLORS = colormaps["plasma"]
STRENGTH = 0.75
"""Share of the color where attention is largest."""
DARKEST, LIGHTEST = 0.12, 0.8
"""Grays that black and white become, so that the heat map is visible on both."""


def overlay(image, weights, largest: float | None = None):
    """The picture in gray under a heat map, whose colors are perceptually uniform.

    Args:
        image: PIL Image, RGB.
        weights: float array (grid height, grid width), ≥ 0; upsampled smoothly.
        largest: weight that has the brightest color; None: the largest of them.

    Returns:
        float32 (height, width, 3) in 0..1.
    """
    scale = (float(weights.max()) if largest is None else largest) or 1.0
    grid = Image.fromarray((weights / scale).astype("float32"))
    field = np.clip(np.asarray(grid.resize(image.size, Image.Resampling.BICUBIC)), 0, 1)
    light = np.asarray(image.convert("L"), "float32") / 255
    return _blended(DARKEST + (LIGHTEST - DARKEST) * light, field)


def add_scale(
    figure,
    axes,
    label="attention, relative to the largest of the picture",
    largest: float | None = None,
):
    """Draws the color scale of `overlay`, over a middle gray, beside the axes.

    Args:
        figure: matplotlib Figure.
        axes: axes or array of axes.
        label: what it stands for.
        largest: what the brightest color stands for; None: 1.
    """
    shares = np.linspace(0, 1, 256)
    colors = ListedColormap(_blended(np.full(256, (DARKEST + LIGHTEST) / 2), shares))
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, largest or 1), colors),
        ax=axes,
        fraction=0.03,
        pad=0.02,
        shrink=0.8,
    )
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)


def _blended(gray, field):
    """Gray (...) and attention (...) in 0..1 as colors (..., 3)."""
    share = STRENGTH * np.sqrt(field)[..., None]
    return ((1 - share) * gray[..., None] + share * COLORS(field)[..., :3]).astype("float32")
