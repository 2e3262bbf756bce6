"""Pictures of where a caption's words looked."""

import math
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import ANSWER_PIECES, END_ID, TEXT, TOKENS, WEIGHTS
from keras_attn.viz.labels import drawable, spelled, word_groups
from keras_attn.viz.overlay import add_scale, overlay
from keras_attn.viz.panels import small
from keras_attn.viz.readable_figure import ReadableFigure

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image
except ImportError as error:  # pragma: no cover - both come with the extra
    raise ImportError(
        "Expected matplotlib and pillow. Install them: pip install 'keras-attn[pictures]'"
    ) from error


@dataclass(frozen=True)
class Explanation:
    """One caption and where each of its words looked.

    Attributes:
        text: the caption.
        words: tuple of strings.
        weights: float array (words, grid height, grid width); each map sums to 1.
    """

    text: str
    words: tuple[str, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, answer, row: int, rank: int = 0) -> "Explanation":
        """From an answer of the `explain` signature, as NumPy arrays.

        Args:
            answer: dict with TEXT, TOKENS, ANSWER_PIECES and WEIGHTS.
            row: int. Which picture.
            rank: int. Which caption of it, 0 = best.
        """
        tokens, pieces = answer[TOKENS][row, rank], answer[ANSWER_PIECES][row, rank]
        count = int(np.argmax(tokens == END_ID)) if END_ID in tokens else len(tokens)
        pieces = [piece.decode() for piece in pieces[:count]]
        words, weights = fold_pieces(pieces, answer[WEIGHTS][row, rank, :count])
        return cls(answer[TEXT][row, rank].decode(), tuple(words), weights)


def fold_pieces(pieces, weights):
    """Folds pieces into words; a word looks where its pieces look on average.

    Pieces spelled in bytes (<0xE2>) are joined into their characters.

    Args:
        pieces: T strings, ▁ at the start of a word.
        weights: float (T, ...).

    Returns:
        words: list of strings.
        weights: float (words, ...).

    Example:
        >>> words, weights = fold_pieces(["▁a", "▁play", "ing"], np.array([1.0, 0.0, 1.0]))
        >>> words, weights.tolist()
        (['a', 'playing'], [1.0, 0.5])
    """
    groups = word_groups(pieces)
    words = [spelled([pieces[index] for index in group]) for group in groups]
    kept = [place for place, word in enumerate(words) if word]
    means = [np.mean([weights[index] for index in groups[place]], axis=0) for place in kept]
    folded = np.stack(means) if means else np.zeros((0, *np.shape(weights)[1:]))
    return [words[place] for place in kept], folded


def explanation_figure(picture, explanation: Explanation, columns: int = 4) -> ReadableFigure:
    """The picture, then once for each word with that word's attention over it.

    Attention is upsampled smoothly and shown as a heat map, with its scale beside it.

    Args:
        picture: uint8 (height, width, 3), such as `read_picture` returns.
        explanation: `Explanation`.
        columns: int. Pictures in a row.

    Returns:
        matplotlib Figure.
    """
    image = small(picture, 448)
    panels = 1 + len(explanation.words)
    rows = math.ceil(panels / columns)
    height = rows * (2.4 * image.height / image.width + 0.35) + 0.5
    figure = ReadableFigure(figsize=(2.4 * columns + 0.8, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.set_axis_off()
    axes[0].imshow(image)
    for axis, word, weights in zip(axes[1:], explanation.words, explanation.weights):
        axis.imshow(overlay(image, weights))
        axis.set_title(drawable(word), fontsize=13, pad=3)
    figure.suptitle(drawable(explanation.text) or "(no caption)", fontsize=13, wrap=True)
    add_scale(figure, axes, "attention, relative to the word's largest")
    return figure


def figure_pixels(figure: Figure, size: tuple[int, int]):
    """The figure as uint8 (height, width, 3), on white, scaled to fit into `size`."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture.thumbnail((size[1], size[0]))
    sheet = Image.new("RGB", (size[1], size[0]), "white")
    sheet.paste(picture, ((size[1] - picture.width) // 2, (size[0] - picture.height) // 2))
    return np.asarray(sheet)
