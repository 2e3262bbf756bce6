"""Pictures of a text, each word shaded by its weight."""

from collections.abc import Sequence

import numpy as np

from keras_attn.extras import extra
from keras_attn.viz.labels import shortened
from keras_attn.viz.quantity import SHARE, SIGNED_COLORS, Quantity
from keras_attn.viz.readable_figure import ReadableFigure, drawable

with extra("pictures"):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

COLORS = "Blues"
WIDTH, MARGIN = 7.0, 0.2
LINE, GAP, PADDING = 0.36, 0.05, 0.05
HEAD, SCALE = 0.5, 1.15
"""Inches: of the figure and its margin; of a line, between words and around them; of the title and
of the color scale."""
MOST_CHARACTERS, MOST_TITLE = 40, 50
"""Of a word and of the title, before they are cut."""
DARK = 0.45
"""Luminance below which a shade has white letters."""


def shaded_text_figure(
    words: Sequence[str], weights, title: str = "", quantity: Quantity = SHARE
) -> ReadableFigure:
    """The text in lines, each word shaded by its weight, over a color scale.

    The scale spans the weights; those with signs have two colors, as dark as they are far from 0.

    Args:
        words: N strings.
        weights: float array (N,).
        title: above the text, such as the label.
        quantity: what the weights are.
    """
    figure = ReadableFigure(figsize=(WIDTH, WIDTH))
    texts = [
        figure.text(0, 0, drawable(shortened(word, MOST_CHARACTERS)), fontsize=12) for word in words
    ]
    figure.add_fallbacks()
    renderer = FigureCanvasAgg(figure).get_renderer()
    widths = [text.get_window_extent(renderer).width / figure.dpi for text in texts]
    places = _places(widths)
    lines = 1 + max((line for line, _ in places), default=0)
    height = HEAD + lines * LINE + SCALE
    figure.set_size_inches(WIDTH, height)
    heading = drawable(shortened(title, MOST_TITLE))
    figure.text(MARGIN / WIDTH, 1 - HEAD / 2 / height, heading, fontsize=13, va="center")
    colors = _colors(np.asarray(weights), quantity.signed)
    for text, width, weight, (line, left) in zip(texts, widths, weights, places):
        middle = height - HEAD - (line + 0.5) * LINE
        color = colors.to_rgba(weight)
        corner = (left / WIDTH, (middle - LINE / 2 + GAP / 2) / height)
        size = (width + 2 * PADDING) / WIDTH, (LINE - GAP) / height
        figure.add_artist(Rectangle(corner, *size, color=color, linewidth=0))
        text.set(position=((left + PADDING) / WIDTH, middle / height), va="center_baseline")
        text.set(color="white" if _luminance(color) < DARK else "black", zorder=2)
    axis = figure.add_axes((MARGIN / WIDTH, 0.9 / height, 0.4, 0.12 / height))
    bar = figure.colorbar(
        colors, cax=axis, orientation="horizontal", format="%.2g", ticks=MaxNLocator(4)
    )
    bar.ax.set_xlabel(quantity.unit, fontsize=9, loc="left")
    bar.ax.tick_params(labelsize=8)
    return figure


def _colors(weights, signed):
    """Colors from the smallest weight to the largest, or, with signs, from −largest on."""
    largest = max(np.abs(weights).max(initial=0), 1e-6)
    if signed:
        return ScalarMappable(Normalize(-largest, largest), SIGNED_COLORS)
    low = weights.min(initial=largest)
    return ScalarMappable(Normalize(low if low < largest else 0, largest), COLORS)


def _places(widths: Sequence[float]) -> list[tuple[int, float]]:
    """The line of each word and its left edge in inches."""
    places, line, left = [], 0, MARGIN
    for width in widths:
        if left > MARGIN and left + width + 2 * PADDING > WIDTH - MARGIN:
            line, left = line + 1, MARGIN
        places.append((line, left))
        left += width + 2 * PADDING + GAP
    return places


def _luminance(color):
    """Perceived brightness of an RGB color, 0 to 1."""
    return float(np.dot(color[:3], (0.299, 0.587, 0.114)))
