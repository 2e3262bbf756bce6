"""Sparse conditional probabilities, one for each pair that occurs."""

import numpy as np
from scipy.special import digamma

from keras_attn.alignment.compiled import compiled


class ConditionalTable:
    """p(outcome | condition) of those pairs of a condition and an outcome that occur together.

    Args:
        conditions: int (E,). Condition of each entry, from 0.
        values: float (E,). Probability of each entry. Default: uniform for each condition.

    Attributes:
        conditions: int32 (E,).
        values: float64 (E,). Probabilities.

    Example:
        >>> table = ConditionalTable(np.array([0, 0, 2, 2, 2]))
        >>> table.values.round(2).tolist()
        [0.5, 0.5, 0.33, 0.33, 0.33]
        >>> table.update(np.array([3.0, 1.0, 1.0, 0.0, 1.0]))
        >>> table.values.tolist()
        [0.75, 0.25, 0.5, 0.0, 0.5]
    """

    def __init__(self, conditions, values=None):
        self.conditions = np.asarray(conditions, "int32")
        self.values = np.zeros(len(self.conditions)) if values is None else np.array(values, float)
        if values is None:
            self.update(np.ones(len(self.conditions)))

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
        if np.any(np.asarray(prior) > 0):
            counts = counts + np.asarray(prior)
            totals = np.bincount(self.conditions, counts)
            self.values = np.exp(digamma(counts) - digamma(totals)[self.conditions])
        elif len(counts):
            _divide(counts, self.conditions, self.values)


@compiled
def _divide(counts, conditions, values):
    """Sets the values, (E,), to shares of the counts of their conditions, where there are any."""
    scales = np.zeros(conditions.max() + 1)
    for entry in range(len(values)):
        scales[conditions[entry]] += counts[entry]
    for condition in range(len(scales)):
        scales[condition] = 1 / scales[condition] if scales[condition] > 0 else -1
    for entry in range(len(values)):
        scale = scales[conditions[entry]]
        values[entry] = counts[entry] * scale if scale > 0 else values[entry]
