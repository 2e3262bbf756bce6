"""Text as pictures can show it."""

import re
from collections.abc import Sequence

import numpy as np

from keras_attn.contracts import END_PIECE, START_PIECE, WORD_MARK
from keras_attn.viz.readable_figure import can_be_shown

SPECIAL = (START_PIECE, END_PIECE)
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""A character of a script without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese characters."""


def drawable(text: str) -> str:
    """The text with □ for what no font that is asked can show; $ is no mathematics."""
    shown = "".join(character if can_be_shown(character) else "□" for character in text)
    return shown.replace("$", r"\$")


def shortened(text: str, most: int) -> str:
    """The text, cut to `most` characters with an ellipsis.

    Example:
        >>> shortened("Donaudampfschifffahrt", 6)
        'Donau…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def word_groups(pieces: Sequence[str]) -> list[list[int]]:
    """Places of the pieces of each word.

    Start and end are words of their own, and so is each piece in a script without spaces between
    words, such as Chinese, Japanese or Thai.

    Example:
        >>> word_groups(["▁a", "▁play", "ing", "</s>"])
        [[0], [1, 2], [3]]
        >>> word_groups(["▁", "京都", "で", "会う"])
        [[0, 1], [2], [3]]
    """
    groups: list[list[int]] = []
    for index, piece in enumerate(pieces):
        before = pieces[index - 1] if index else START_PIECE
        alone = piece in SPECIAL or (UNSPACED.search(piece) and before != WORD_MARK)
        if alone or piece.startswith(WORD_MARK) or before in SPECIAL:
            groups.append([])
        groups[-1].append(index)
    return groups


def in_words(pieces: Sequence[str]) -> tuple[tuple[str, ...], list[list[int]]]:
    """The words that pieces make, and the places of the pieces of each."""
    groups = word_groups(pieces)
    return tuple(spelled([pieces[place] for place in group]) for group in groups), groups


def folded(weights, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> np.ndarray:
    """Weights of words from those of their pieces.

    A word that is looked at has the sum of its pieces' weights, one that looks their mean, so that
    rows that sum to 1 still do.

    Args:
        weights: float array (..., T, S).
        rows: places of each row's pieces, see `word_groups`.
        columns: places of each column's pieces.

    Returns:
        float array (..., rows, columns).

    Example:
        >>> folded(np.array([[0.2, 0.3, 0.5], [0.4, 0.5, 0.1]]), [[0, 1]], [[0, 1], [2]])
        array([[0.7, 0.3]])
    """
    summed = np.stack([weights[..., group].sum(axis=-1) for group in columns], axis=-1)
    return np.stack([summed[..., group, :].mean(axis=-2) for group in rows], axis=-2)


def spelled(pieces: Sequence[str]) -> str:
    """The word that pieces make; those spelled in bytes (<0xE2>) are joined into characters."""
    data = b""
    for piece in pieces:
        is_byte = len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")
        data += bytes([int(piece[3:5], 16)]) if is_byte else piece.encode()
    return data.decode(errors="replace").replace(WORD_MARK, "")
