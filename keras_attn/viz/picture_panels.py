"""Figures of a picture under maps of attention, one for each step, layer and head."""

import math
from collections.abc import Sequence

import numpy as np

from keras_attn.viz.overlay import add_scale, overlay
from keras_attn.viz.panels import panels
from keras_attn.viz.quantity import ALL, ATTENTION, EACH, Quantity
from keras_attn.viz.readable_figure import ReadableFigure, drawable
from keras_attn.viz.thumbnail import small


def steps_figure(
    picture,
    steps: Sequence[str],
    maps,
    title: str = "",
    columns: int = 4,
    scale: str = EACH,
    quantity: Quantity = ATTENTION,
) -> ReadableFigure:
    """The picture, then once for each step with that step's attention over it.

    Attention is upsampled smoothly and shown as a heat map, with its scale beside it.

    Args:
        picture: uint8 (height, width, 3), such as `read_picture` returns.
        steps: T strings, such as words.
        maps: float array (T, grid height, grid width), ≥ 0.
        title: over all of them.
        columns: int. Pictures in a row.
        scale: EACH or ALL.
        quantity: what the maps are.
    """
    maps = np.asarray(maps)
    largest = None if scale == EACH else float(maps.max(initial=0))
    image = small(picture, 448)
    rows = math.ceil((1 + len(steps)) / columns)
    height = rows * (2.4 * image.height / image.width + 0.35) + 0.5
    figure = ReadableFigure(figsize=(2.4 * columns + 0.8, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.set_axis_off()
    axes[0].imshow(image)
    for axis, step, weights in zip(axes[1:], steps, maps):
        axis.imshow(overlay(image, weights, largest))
        axis.set_title(drawable(step), fontsize=13, pad=3)
    figure.suptitle(drawable(title) or "(no answer)", fontsize=13, wrap=True)
    label = quantity.unit if scale == ALL else f"{quantity.unit}, relative to the word's largest"
    add_scale(figure, axes, label, largest)
    return figure


def panels_figure(
    picture,
    maps,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    width: float = 1.6,
    scale: str = EACH,
) -> ReadableFigure:
    """The picture once for each row and column under a map of attention.

    Args:
        picture: uint8 (height, width, 3).
        maps: float array (R, C, grid height, grid width).
        rows: R names, such as layers.
        columns: C names, such as heads.
        title: over all of them.
        width: of a picture, in inches.
        scale: EACH, up to the largest weight of each picture, or ALL, of all of them.
    """
    image, maps = small(picture, round(140 * width)), np.asarray(maps)
    largest = None if scale == EACH else float(maps.max(initial=0))
    figure, axes = panels(len(rows), len(columns), width, image, drawable(title))
    for row, column in np.ndindex(len(rows), len(columns)):
        axes[row, column].imshow(overlay(image, maps[row, column], largest))
    for axis, name in zip(axes[0], columns):
        axis.set_title("\n".join(map(drawable, name.split("\n"))), fontsize=9)
    for axis, name in zip(axes[:, 0], rows):
        axis.set_ylabel(drawable(name), fontsize=9)
    relative = "attention, relative to the largest of the picture"
    add_scale(figure, axes, relative if scale == EACH else "attention", largest)
    return figure


def rollout_figure(
    picture, shares, title: str = "", quantity: Quantity = ATTENTION
) -> ReadableFigure:
    """The picture, and the picture under a rollout's heat map, from its smallest share to its
    largest: half of every block's step is the patch's own, which makes all shares alike.

    Args:
        picture: uint8 (height, width, 3).
        shares: float array (grid height, grid width), see `PictureHeads.rollout`.
        title: over both.
        quantity: what the shares are.
    """
    image, shares = small(picture, 448), np.asarray(shares)
    figure, axes = panels(1, 2, 3.2, image, drawable(title))
    for axis, pixels in zip(axes[0], (image, overlay(image, shares - shares.min()))):
        axis.imshow(pixels)
    add_scale(figure, axes, f"{quantity.unit}, from smallest to largest")
    return figure
