"""Pictures of a text, each word shaded by its weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import LABEL_SCORES, LABELS, SOURCE_PIECES, WEIGHTS
from keras_attn.viz.labels import drawable, in_words
from keras_attn.viz.readable_figure import ReadableFigure

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle
except ImportError as error:  # pragma: no cover - it comes with the extra
    raise ImportError(
        "Expected matplotlib. Install it: pip install 'keras-attn[pictures]'"
    ) from error

COLORS = "Blues"
WIDTH, MARGIN = 7.0, 0.2
LINE, GAP, PADDING = 0.36, 0.05, 0.05
HEAD, SCALE = 0.5, 0.75
"""Inches: of the figure and its margin; of a line, between words and around them; of the title and
of the color scale."""
MOST_CHARACTERS = 40
DARK = 0.45
"""Luminance below which a shade has white letters."""


@dataclass(frozen=True)
class ShadedText:
    """A classified text, and how much of each word is in its pooled vector.

    Attributes:
        label: the most probable label.
        score: its probability.
        words: tuple of N strings, the text's end last.
        weights: float array (N,), sums to 1.
    """

    label: str
    score: float
    words: tuple[str, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, answer) -> "ShadedText":
        """From one answer of a text classifier's `explain`, as NumPy arrays.

        A word has the sum of its pieces' weights.

        Args:
            answer: dict with LABELS, LABEL_SCORES, SOURCE_PIECES, WEIGHTS.
        """
        pieces = [piece.decode() for piece in answer[SOURCE_PIECES] if piece]
        words, groups = in_words(pieces)
        weights = np.asarray(answer[WEIGHTS], "float64")
        return cls(
            answer[LABELS][0].decode(),
            float(answer[LABEL_SCORES][0]),
            words,
            np.array([weights[group].sum() for group in groups]),
        )


def shaded_text_figure(shaded: ShadedText) -> ReadableFigure:
    """The text in lines, each word shaded by its weight, over a color scale.

    Args:
        shaded: `ShadedText`.

    Returns:
        matplotlib Figure; dark is the largest weight.
    """
    figure = ReadableFigure(figsize=(WIDTH, WIDTH))
    texts = [figure.text(0, 0, drawable(_short(word)), fontsize=12) for word in shaded.words]
    figure.add_fallbacks()
    renderer = FigureCanvasAgg(figure).get_renderer()
    widths = [text.get_window_extent(renderer).width / figure.dpi for text in texts]
    places = _places(widths)
    lines = 1 + max((line for line, _ in places), default=0)
    height = HEAD + lines * LINE + SCALE
    figure.set_size_inches(WIDTH, height)
    title = f"{drawable(_short(shaded.label))}, {100 * shaded.score:.1f} %"
    figure.text(MARGIN / WIDTH, 1 - HEAD / 2 / height, title, fontsize=13, va="center")
    colors = ScalarMappable(Normalize(0, max(shaded.weights.max(initial=0), 1e-6)), COLORS)
    for text, width, weight, (line, left) in zip(texts, widths, shaded.weights, places):
        middle = height - HEAD - (line + 0.5) * LINE
        color = colors.to_rgba(weight)
        corner = (left / WIDTH, (middle - LINE / 2 + GAP / 2) / height)
        size = (width + 2 * PADDING) / WIDTH, (LINE - GAP) / height
        figure.add_artist(Rectangle(corner, *size, color=color, linewidth=0))
        text.set(position=((left + PADDING) / WIDTH, middle / height), va="center_baseline")
        text.set(color="white" if _luminance(color) < DARK else "black", zorder=2)
    axis = figure.add_axes((MARGIN / WIDTH, 0.45 / height, 0.4, 0.12 / height))
    bar = figure.colorbar(colors, cax=axis, orientation="horizontal", format="%.2g")
    bar.ax.set_xlabel("share of the word in the text's vector", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return figure


def _places(widths: Sequence[float]) -> list[tuple[int, float]]:
    """The line of each word and its left edge in inches."""
    places, line, left = [], 0, MARGIN
    for width in widths:
        if left > MARGIN and left + width + 2 * PADDING > WIDTH - MARGIN:
            line, left = line + 1, MARGIN
        places.append((line, left))
        left += width + 2 * PADDING + GAP
    return places


def _short(word):
    """A word cut to a length that fits into a line."""
    return word if len(word) <= MOST_CHARACTERS else f"{word[: MOST_CHARACTERS - 1]}…"


def _luminance(color):
    """Perceived brightness of an RGB color, 0 to 1."""
    return float(np.dot(color[:3], (0.299, 0.587, 0.114)))
