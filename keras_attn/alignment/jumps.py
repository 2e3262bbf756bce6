"""Probabilities of jumps between source positions, and how they are learned."""

import numpy as np

LEAST = 1e-9
"""Least weight of a jump, relative to the sum of all."""


class Jumps:
    """Probability of the next source position given the last, by the distance between them.

        p(i | i', l) = s(i − i') / Σ_{k<l} s(k − i'),  i' = −1 before the first link

    Args:
        reach: int ≥ 1. Longest source sentence, words.
        weights: float > 0 (2 reach,). s(d) for d from 1 − reach to reach. Default: 1 / (1 + |d −
            1|).

    Example:
        >>> jumps = Jumps(3)
        >>> (jumps.matrix(2) / jumps.normalizers(2)[2][:, None]).round(2).tolist()
        [[0.67, 0.33], [0.33, 0.67], [0.4, 0.6]]
    """

    def __init__(self, reach, weights=None):
        self.reach = reach
        steps = np.abs(np.arange(-reach, reach))
        self.weights = 1 / (1.0 + steps) if weights is None else np.asarray(weights, float)

    def matrix(self, length):
        """s(i − i'), float (1 + length, length): rows are i' = −1, 0, …, columns i."""
        distances = self._distances(length)
        weights = self.weights[np.clip(distances, 0, len(self.weights) - 1)]
        beyond = (distances < 0) | (distances >= len(self.weights))
        return np.where(beyond, self.weights.min(), weights)

    def normalizers(self, length):
        """Σ_{k<l} s(k − i') for l ≤ length (rows) and i' (columns): (1 + length, 1 + length)."""
        sums = np.cumsum(self.matrix(length), axis=1).T
        return np.concatenate([np.ones((1, 1 + length)), sums])

    def update(self, jumps, visits, prior=0.0, steps=3):
        """Moves the weights to expected counts by minorization–maximization.

        The normalizers make the maximum implicit; each step raises the likelihood. The steps are
        those of choice models, Hunter 2004, Annals of Statistics 32(1).

        Args:
            jumps: float (1 + reach, reach). Expected jumps from i' (rows) to i (columns).
            visits: float (1 + reach, 1 + reach). Expected jumps from i' (columns) in sentences of
                l words (rows).
            prior: float ≥ 0. Jumps of each distance that are added to the expected ones.
            steps: int ≥ 1.
        """
        distances, count = self._distances(self.reach).ravel(), len(self.weights)
        wanted = np.bincount(distances, jumps.ravel(), count) + prior
        for _ in range(steps):
            rates = visits / self.normalizers(self.reach)
            reachable = np.cumsum(rates[::-1], axis=0)[::-1][1:].T
            chances = np.bincount(distances, reachable.ravel(), count) + prior / np.mean(
                self.weights
            )
            weights = np.where(chances > 0, wanted / np.where(chances > 0, chances, 1), 0)
            self.weights = np.maximum(weights / max(weights.sum(), LEAST), LEAST)

    def _distances(self, length):
        """Index of the weight for i' (rows) and i (columns)."""
        last, position = np.ogrid[-1:length, :length]
        return position - last + self.reach - 1
