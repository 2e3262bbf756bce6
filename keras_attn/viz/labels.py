"""Text as pictures can show it."""

import re
from collections.abc import Sequence

import numpy as np

from keras_attn.contracts import END_PIECE, START_PIECE, WORD_MARK

BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
SPECIAL = (START_PIECE, END_PIECE)
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""A character of a script without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese characters."""


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


def is_word(text: str) -> bool:
    """Whether a text has a letter or a digit, and is no special piece.

    Example:
        >>> [text for text in ("dog", ".", "7", "</s>", "") if is_word(text)]
        ['dog', '7']
    """
    return text not in SPECIAL and any(map(str.isalnum, text))


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
    shape = (*np.shape(weights)[:-1], 0)
    summed = [weights[..., group].sum(axis=-1, keepdims=True) for group in columns]
    return averaged(np.concatenate([np.zeros(shape, weights.dtype), *summed], axis=-1), rows, -2)


def averaged(weights, groups: Sequence[Sequence[int]], axis: int) -> np.ndarray:
    """The mean over each group of places of an axis, which becomes an axis of groups."""
    empty = np.take(weights, [], axis)
    means = [np.take(weights, group, axis).mean(axis, keepdims=True) for group in groups]
    return np.concatenate([empty, *means], axis)


def spelled(pieces: Sequence[str]) -> str:
    """The word that pieces make; those spelled in bytes (<0xE2>) are joined into characters."""
    data = b""
    for piece in pieces:
        byte = BYTE.fullmatch(piece)
        data += bytes.fromhex(byte[1]) if byte else piece.encode()
    return data.decode(errors="replace").replace(WORD_MARK, "")
