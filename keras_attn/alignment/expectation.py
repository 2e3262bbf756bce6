"""What a model expects of the alignment of a batch."""

from typing import NamedTuple

import numpy as np

from keras_attn.alignment.compiled import compiled

TINY = 1e-300
"""Smallest sum of probabilities that is divided by."""


class Expectation(NamedTuple):
    """Posterior probabilities of links, and how likely the sentences are.

    Attributes:
        posteriors: float (C,). p(a_j = i | sentences) of each cell of a `Batch`.
        log_likelihoods: float (B,), nats. log p(target words | source words, target length).
    """

    posteriors: np.ndarray
    log_likelihoods: np.ndarray


def independent_expectation(batch, joint):
    """Expectation where each target word's link is independent of the others.

    Args:
        batch: `Batch`.
        joint: float ≥ 0 (C,). p(target word, a_j = i); becomes the posteriors.

    Returns:
        `Expectation`.
    """
    likelihoods = np.zeros(len(batch.rows))
    _normalize(joint, batch.starts, 1 + batch.source_lengths, TINY, likelihoods)
    return Expectation(joint, likelihoods)


def most_probable(batch, values):
    """For each target word the place of the largest value, 0 for NULL: int64, pair by pair.

    Args:
        batch: `Batch`.
        values: float (C,).
    """
    places = np.empty(batch.target_lengths.sum(), "int64")
    _largest(values, batch.starts, 1 + batch.source_lengths, places)
    return places


@compiled
def _normalize(joint, starts, widths, least, likelihoods):
    """Scales the cells (C,) of each target word to a sum of 1; adds up logarithms of sums, (B,)."""
    for pair in range(len(widths)):
        width = widths[pair]
        for begin in range(starts[pair], starts[pair + 1], width):
            total = 0.0
            for cell in range(begin, begin + width):
                total += joint[cell]
            total = max(total, least)
            scale = 1 / total
            for cell in range(begin, begin + width):
                joint[cell] *= scale
            likelihoods[pair] += np.log(total)


@compiled
def _largest(values, starts, widths, places):
    """Sets the place of the largest cell, of (C,), of each target word, int64."""
    word = 0
    for pair in range(len(widths)):
        width = widths[pair]
        for begin in range(starts[pair], starts[pair + 1], width):
            places[word] = np.argmax(values[begin : begin + width])
            word += 1
