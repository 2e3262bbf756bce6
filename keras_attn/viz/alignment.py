"""Pictures of which pieces of a source each piece of a target looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import (
    ANSWER_PIECES,
    ANSWER_TOKENS,
    ANSWER_WEIGHTS,
    END_ID,
    END_PIECE,
    PAD_ID,
    SOURCE_PIECES,
    TEXT,
)
from keras_attn.viz.labels import drawable

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as error:  # pragma: no cover - comes with the extra
    raise ImportError(
        "Expected matplotlib. Install it: pip install 'keras-attn[pictures]'"
    ) from error

INCHES = 0.32
"""Height and width of a cell."""


@dataclass(frozen=True)
class Alignment:
    """One answer and where each of its pieces looked.

    Attributes:
        text: the answer.
        source: tuple of S strings, the source's pieces, its end included.
        target: tuple of T strings, the answer's pieces, its end included.
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
            answer: dict with TEXT, SOURCE_PIECES, ANSWER_TOKENS, ANSWER_PIECES, ANSWER_WEIGHTS.
            rank: int. Which text of it, 0 = best.
        """
        source = tuple(piece.decode() for piece in answer[SOURCE_PIECES] if piece)
        tokens, pieces = answer[ANSWER_TOKENS][rank], answer[ANSWER_PIECES][rank]
        target = tuple(
            END_PIECE if token == END_ID else piece.decode()
            for token, piece in zip(tokens, pieces)
            if token != PAD_ID
        )
        weights = answer[ANSWER_WEIGHTS][rank, : len(target), : len(source)]
        return cls(answer[TEXT][rank].decode(), source, target, weights)


def alignment_figure(alignment: Alignment) -> Figure:
    """A matrix with a row for each piece of the target and a column for each of the source.

    Args:
        alignment: `Alignment`.

    Returns:
        matplotlib Figure; dark is most looked at.
    """
    return matrix_figure(alignment.weights, alignment.target, alignment.source)


def matrix_figure(weights, row_labels: Sequence[str], column_labels: Sequence[str]) -> Figure:
    """A matrix of attention weights, dark where most is looked at.

    Args:
        weights: float array (T, S), 0 to 1.
        row_labels: T strings.
        column_labels: S strings.
    """
    rows, columns = weights.shape
    figure = Figure(figsize=(INCHES * columns + 2.2, INCHES * rows + 1.8))
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    labels = [drawable(piece) for piece in column_labels]
    axis.set_xticks(range(columns), labels, rotation=60, ha="left", rotation_mode="anchor")
    axis.set_yticks(range(rows), [drawable(piece) for piece in row_labels])
    axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    figure.tight_layout(pad=0.6)
    return figure
