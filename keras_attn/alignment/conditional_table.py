"""Sparse conditional probabilities, one for each pair that occurs."""

import numpy as np
from scipy.special import digamma


class ConditionalTable:
    """p(outcome | condition) of those pairs of a condition and an outcome that occur together.

    Args:
        conditions: int (E,). Condition of each entry, from 0.
        values: float (E,). Probability of each entry. Default: uniform for each condition.

    Attributes:
        conditions: int (E,).
        values: float64 (E + 1,). Probabilities; the last belongs to padding and is 0.

    Example:
        >>> table = ConditionalTable(np.array([0, 0, 2, 2, 2]))
        >>> table.values.round(2).tolist()
        [0.5, 0.5, 0.33, 0.33, 0.33, 0.0]
        >>> table.update(np.array([3.0, 1.0, 1.0, 0.0, 1.0]))
        >>> table.values.tolist()
        [0.75, 0.25, 0.5, 0.0, 0.5, 0.0]
    """

    def __init__(self, conditions, values=None):
        self.conditions = np.asarray(conditions)
        if values is None:
            values = 1 / np.bincount(self.conditions)[self.conditions]
        self.values = np.append(values, 0.0)

    def __len__(self):
        return len(self.conditions)

    def update(self, counts, prior=0.0):
        """Sets the probabilities from expected counts.

        Args:
            counts: float ≥ 0 (E,). A condition without any count keeps its probabilities.
            prior: float ≥ 0, or float (E,). Concentration of a Dirichlet prior. 0: maximum
                likelihood, c / Σ c. Above 0: mean-field variational Bayes, exp(ψ(c + α)) /
                exp(ψ(Σ (c + α))), whose values sum to less than 1.
        """
        counts = counts + np.asarray(prior)
        totals = np.bincount(self.conditions, counts)
        if np.any(np.asarray(prior) > 0):
            values = np.exp(digamma(counts) - digamma(totals)[self.conditions])
        else:
            known = totals > 0
            values = counts / np.where(known, totals, 1)[self.conditions]
            if not known.all():
                values = np.where(known[self.conditions], values, self.values[:-1])
        self.values[:-1] = values

    def normalize(self):
        """Scales the probabilities of each condition to a sum of 1."""
        totals = np.bincount(self.conditions, self.values[:-1])
        self.values[:-1] /= np.where(totals > 0, totals, 1)[self.conditions]
