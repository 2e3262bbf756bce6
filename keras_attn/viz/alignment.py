"""Pictures of where in a source each piece or word of a target looked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import (
    ANSWER_PIECES,
    END_ID,
    END_PIECE,
    PAD_ID,
    SOURCE_PIECES,
    TEXT,
    TOKENS,
    WEIGHTS,
)
from keras_attn.viz.labels import drawable, folded, in_words, shortened
from keras_attn.viz.readable_figure import ReadableFigure

try:
    from matplotlib.patches import Rectangle
except ImportError as error:  # pragma: no cover - comes with the extra
    raise ImportError(
        "Expected matplotlib. Install it: pip install 'keras-attn[pictures]'"
    ) from error

INCHES, LETTER = 0.32, 0.1
"""Height and width of a cell, and width of a letter."""
MOST_CHARACTERS = 60
"""Of a label, before it is cut."""


@dataclass(frozen=True)
class Alignment:
    """One answer and where each of its pieces looked.

    Attributes:
        text: the answer.
        source: tuple of S strings, the source's pieces or words, its end included.
        target: tuple of T strings, the answer's, likewise.
        weights: float array (T, S); rows sum to 1.
    """

    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, answer, rank: int = 0) -> "Alignment":
        """From one answer of a text service's `explain`, as NumPy arrays.

        Args:
            answer: dict with TEXT, SOURCE_PIECES, TOKENS, ANSWER_PIECES, WEIGHTS.
            rank: int. Which text of it, 0 = best.
        """
        source = tuple(piece.decode() for piece in answer[SOURCE_PIECES] if piece)
        tokens, pieces = answer[TOKENS][rank], answer[ANSWER_PIECES][rank]
        target = tuple(
            END_PIECE if token == END_ID else piece.decode()
            for token, piece in zip(tokens, pieces)
            if token != PAD_ID
        )
        weights = answer[WEIGHTS][rank, : len(target), : len(source)]
        return cls(answer[TEXT][rank].decode(), source, target, weights)

    def in_words(self) -> "Alignment":
        """The alignment of words: their pieces' weights, see `keras_attn.viz.labels.folded`."""
        (target, rows), (source, columns) = in_words(self.target), in_words(self.source)
        return Alignment(self.text, source, target, folded(self.weights, rows, columns))


def alignment_figure(alignment: Alignment) -> ReadableFigure:
    """A matrix with a row for each piece or word of the target, a column for each of the source.

    Args:
        alignment: `Alignment`.

    Returns:
        matplotlib Figure; dark is most looked at. Of a local or hard attention, which gives most
        of a row a weight of exactly 0, the window of each row is outlined.
    """
    titles = ("answer", "source")
    figure = matrix_figure(alignment.weights, alignment.target, alignment.source, titles)
    axis = figure.axes[0]
    for row, (first, last) in enumerate(windows(alignment.weights)):
        if 0 <= last - first < len(alignment.source) - 1:
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


def matrix_figure(
    weights,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    titles: tuple[str, str] = ("", ""),
) -> ReadableFigure:
    """A matrix of attention weights, dark where most is looked at.

    Args:
        weights: float array (T, S), 0 to 1.
        row_labels: T strings.
        column_labels: S strings.
        titles: of rows and columns.
    """
    rows, columns = weights.shape
    beside, above = (
        [shortened(drawable(label), MOST_CHARACTERS) for label in labels]
        for labels in (row_labels, column_labels)
    )
    left, top = (LETTER * max(map(len, labels), default=0) for labels in (beside, above))
    size = (INCHES * columns + left + 0.6 * top + 1.8, INCHES * rows + top + 1.2)
    figure = ReadableFigure(figsize=size, layout="constrained")
    axis = figure.subplots()
    shown = axis.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    bar = figure.colorbar(shown, ax=axis, shrink=min(1.0, 3 / (INCHES * rows)), pad=0.03)
    bar.set_label("attention", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    axis.set(ylabel=titles[0], xlabel=titles[1])
    axis.xaxis.set_label_position("top")
    axis.set_xticks(range(columns), above, rotation=60, ha="left", rotation_mode="anchor")
    axis.set_yticks(range(rows), beside)
    axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    return figure
