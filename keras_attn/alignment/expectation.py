"""What a model expects of the alignment of a batch."""

from typing import NamedTuple

import numpy as np

TINY = 1e-300
"""Smallest sum of probabilities that is divided by."""


class Expectation(NamedTuple):
    """Posterior probabilities of links, and how likely the sentences are.

    Attributes:
        posteriors: float (B, T, 1 + S). p(a_j = i | sentences): column 0 is NULL. Rows sum to 1, or
            are 0 at padding.
        log_likelihoods: float (B,), nats. log p(target words | source words, target length).
    """

    posteriors: np.ndarray
    log_likelihoods: np.ndarray


def independent_expectation(joint, target_lengths):
    """Expectation where each target word's link is independent of the others.

    Args:
        joint: float ≥ 0 (B, T, 1 + S). p(target word, a_j = i), 0 at padding.
        target_lengths: int (B,).

    Returns:
        `Expectation`.
    """
    totals = joint.sum(axis=2)
    valid = np.arange(joint.shape[1]) < target_lengths[:, None]
    bounded = np.where(valid, np.maximum(totals, TINY), 1)
    return Expectation(joint / bounded[..., None], np.log(bounded).sum(axis=1))
