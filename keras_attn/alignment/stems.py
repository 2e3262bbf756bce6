"""Smoothing of rare words' translations by those of words with the same beginning."""

import numpy as np

from keras_attn.alignment.batches import pair_keys, words_of_keys
from keras_attn.alignment.vocabulary import NULL, Vocabulary


class Stems:
    """Adds to the expected counts of a pair of words a share of those of their stems.

    A word's stem is its first letters. To the count of (f, e) is added

        weight · p(stem f | stem e) / n

    where p is the relative expected count, and n the number of words with the stem of f that occur
    beside e. NULL gets nothing.

    Args:
        keys: int64 (E,). Entries of the lexical table, see `pair_keys`.
        sources, targets: `Vocabulary`.
        length: int ≥ 1, characters.
        weight: float ≥ 0, counts.
    """

    def __init__(self, keys, sources: Vocabulary, targets: Vocabulary, length, weight):
        source, target = words_of_keys(keys)
        source_stems = stem_numbers(sources, length)[source]
        stems = pair_keys(source_stems, stem_numbers(targets, length)[target])
        distinct, self._stems = np.unique(stems, return_inverse=True)
        self._conditions = words_of_keys(distinct)[0]
        _, group, sizes = np.unique(
            pair_keys(source, self._stems), return_inverse=True, return_counts=True
        )
        self._shares = np.where(source == NULL, 0, weight / sizes[group])

    def smoothed(self, counts):
        """Expected counts (E,) with the share of the stems."""
        sums = np.bincount(self._stems, counts)
        totals = np.maximum(np.bincount(self._conditions, sums), np.finfo(float).tiny)
        return counts + self._shares * (sums / totals[self._conditions])[self._stems]


def stem_numbers(vocabulary, length):
    """Number of the stem of each word, int64 (V,); NULL has its own."""
    stems = {None: 0}
    numbers = [0, *(stems.setdefault(word[:length], len(stems)) for word in vocabulary.words)]
    return np.array(numbers, "int64")
