"""Words that are spelled alike in both languages are often translations of each other."""

import unicodedata

import numpy as np
from scipy.sparse import csr_matrix

from keras_attn.alignment.batches import words_of_keys
from keras_attn.alignment.vocabulary import NULL, Vocabulary

LEAST = 0.5
"""Least similarity of two words that count as spelled alike."""

_AT_ONCE = 1 << 17
_BEGIN, _END = "\x02", "\x03"


class Spelling:
    """Adds to the expected counts of a pair of words that are spelled alike.

    To the count of (f, e) is added weight · D(f, e), if that similarity is at least 0.5:

        D(f, e) = 2 |B(f) ∩ B(e)| / (|B(f)| + |B(e)|)

    B has the distinct pairs of neighboring letters of a word without its accents, its beginning
    and end included. NULL gets nothing.

    Args:
        keys: int64 (E,). Entries of the lexical table, see `pair_keys`.
        sources, targets: `Vocabulary`.
        weight: float ≥ 0, counts.

    Source: Dice's coefficient of bigrams: Adamson and Boreham 1974.
    """

    def __init__(self, keys, sources: Vocabulary, targets: Vocabulary, weight):
        self._added = weight * similarities(keys, sources, targets)

    def smoothed(self, counts):
        """Expected counts (E,) with what words of like spelling get."""
        return counts + self._added


def similarities(keys, sources, targets):
    """D of each entry, float (E,); 0 below `LEAST` and for NULL."""
    numbers: dict[str, int] = {}
    source, target = words_of_keys(keys)
    own, other = (_bigrams(vocabulary, numbers) for vocabulary in (sources, targets))
    own.resize((own.shape[0], len(numbers)))  # The target has pairs that the source has not.
    sizes, other_sizes = (np.asarray(side.sum(axis=1)).ravel() for side in (own, other))
    found = np.zeros(len(keys))
    for begin in range(0, len(keys), _AT_ONCE):
        words, others = (side[begin : begin + _AT_ONCE] for side in (source, target))
        shared = np.asarray(own[words].multiply(other[others]).sum(axis=1)).ravel()
        found[begin : begin + _AT_ONCE] = 2 * shared / (sizes[words] + other_sizes[others])
    return np.where((source != NULL) & (found >= LEAST), found, 0.0)


def _bigrams(vocabulary, numbers):
    """Which pairs of letters a word has: float32 (1 + V, N), and their numbers, which grow."""
    rows, columns = [], []
    for number, word in enumerate(vocabulary.words, start=1):
        letters = f"{_BEGIN}{_without_accents(word)}{_END}"
        for pair in {letters[at : at + 2] for at in range(len(letters) - 1)}:
            rows.append(number)
            columns.append(numbers.setdefault(pair, len(numbers)))
    shape = 1 + len(vocabulary.words), len(numbers)
    return csr_matrix((np.ones(len(rows), "float32"), (rows, columns)), shape)


def _without_accents(word):
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
