"""Figures of one matrix of attention."""

from collections.abc import Sequence
from textwrap import fill

import numpy as np

from keras_attn.extras import extra
from keras_attn.viz.labels import shortened
from keras_attn.viz.quantity import ATTENTION, SIGNED_COLORS, Quantity
from keras_attn.viz.readable_figure import ReadableFigure, drawable

with extra("pictures"):
    from matplotlib.patches import Rectangle

INCHES, LETTER = 0.32, 0.1
"""Height and width of a cell, and width of a letter."""
LETTERS_PER_INCH = 11
"""Of a title, before it is wrapped."""
MOST_CHARACTERS = 60
"""Of a label, before it is cut."""


def matrix_figure(
    weights,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    titles: tuple[str, str] = ("", ""),
    outlined: bool = False,
    title: str = "",
    quantity: Quantity = ATTENTION,
) -> ReadableFigure:
    """A matrix of weights, dark where they are largest.

    Args:
        weights: float array (T, S).
        row_labels: T strings.
        column_labels: S strings.
        titles: of rows and columns.
        outlined: whether the window of each row is outlined, where a local or hard attention gives
            most of the row a weight of exactly 0.
        title: above all.
        quantity: what the weights are.

    Raises:
        ValueError: no rows or no columns.
    """
    rows, columns = weights.shape
    if not (rows and columns):
        raise ValueError(f"Expected weights to draw. Received: {rows} rows, {columns} columns")
    beside, above = (
        [shortened(drawable(label), MOST_CHARACTERS) for label in labels]
        for labels in (row_labels, column_labels)
    )
    left, top = (LETTER * max(map(len, labels), default=0) for labels in (beside, above))
    size = (INCHES * columns + left + 0.6 * top + 1.8, INCHES * rows + top + 1.2)
    figure = ReadableFigure(figsize=size, layout="constrained")
    if title:
        heading = fill(drawable(title), max(round(LETTERS_PER_INCH * size[0]), 20))
        figure.suptitle(heading, fontsize=11)
    axis = figure.subplots()
    largest = float(np.abs(weights).max()) or 1.0
    low, colors = (-largest, SIGNED_COLORS) if quantity.signed else (0, "Blues")
    image = axis.imshow(weights, cmap=colors, vmin=low, vmax=largest, aspect="auto")
    bar = figure.colorbar(image, ax=axis, shrink=min(1.0, 3 / (INCHES * rows)), pad=0.03)
    bar.set_label(quantity.unit, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    axis.set(ylabel=drawable(titles[0]), xlabel=drawable(titles[1]))
    axis.xaxis.set_label_position("top")
    axis.set_xticks(range(columns), above, rotation=60, ha="left", rotation_mode="anchor")
    axis.set_yticks(range(rows), beside)
    axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for row, (first, last) in enumerate(windows(weights) if outlined else ()):
        if 0 <= last - first < columns - 1:
            corner, width = (first - 0.5, row - 0.5), last - first + 1
            axis.add_patch(Rectangle(corner, width, 1, fill=False, edgecolor="C1", linewidth=1.2))
    return figure


def windows(weights) -> list[tuple[int, int]]:
    """First and last position of each row with a weight above 0; (0, -1) where there is none.

    Args:
        weights: float array (T, S).

    Example:
        >>> windows(np.array([[0.0, 0.3, 0.0, 0.7], [0.0, 0.0, 0.0, 0.0]]))
        [(1, 3), (0, -1)]
    """
    places = [np.flatnonzero(row) for row in weights]
    return [(int(seen[0]), int(seen[-1])) if len(seen) else (0, -1) for seen in places]
