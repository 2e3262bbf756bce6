"""Probabilities of pairs of words that the training has not seen together."""

import numpy as np

from keras_attn.alignment.batches import pair_keys, words_of_keys
from keras_attn.alignment.stems import stem_numbers
from keras_attn.alignment.vocabulary import NULL

SAME, STEM, NEW, OTHER = 0.1, 0.1, 1e-3, 1e-6
"""Probability of two words of the same spelling; share of the probability of the stems; of two
words of which neither is known; of any other two words."""


def unseen_probabilities(keys, values, new_keys, vocabularies, known, stem_length):
    """t(f | e) of pairs of words that do not occur together in the training corpus.

    Args:
        keys: int64 (E,). Entries of the trained table, see `pair_keys`.
        values: float (E,). Their probabilities.
        new_keys: int64 (N,). Entries of the new text.
        vocabularies: `Vocabulary` of the source and of the target, with the new words.
        known: pair of int. How many words of each were known.
        stem_length: int ≥ 1. Letters of a stem.

    Returns:
        float (N,).
    """
    if not len(new_keys):
        return np.zeros(0)
    source, target = words_of_keys(new_keys)
    stems = [stem_numbers(vocabulary, stem_length) for vocabulary in vocabularies]
    by_stem = STEM * _stem_means(keys, values, new_keys, stems)
    spelled = {word: number for number, word in enumerate(vocabularies[0].words, start=1)}
    same_as = np.array([-1, *(spelled.get(word, -1) for word in vocabularies[1].words)])
    both_new = (source > known[0]) & (target > known[1])
    guesses = np.maximum(by_stem, np.where(both_new, NEW, OTHER))
    guesses = np.where(same_as[target] == source, np.maximum(guesses, SAME), guesses)
    return np.where(source == NULL, OTHER, guesses)


def _stem_means(keys, values, new_keys, stems):
    """Mean probability of known entries with the same two stems, float (N,); 0 without any."""
    classes, wanted = (
        pair_keys(*(of[words] for of, words in zip(stems, words_of_keys(some), strict=True)))
        for some in (keys, new_keys)
    )
    distinct, place = np.unique(classes, return_inverse=True)
    if not len(distinct):
        return np.zeros(len(new_keys))
    means = np.bincount(place, values) / np.bincount(place)
    at = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    return np.where(distinct[at] == wanted, means[at], 0.0)
