"""The candidates of a strategy at one step."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import PAD_ID, START_ID
from keras_attn.ops.take_by_row import take_by_row
from keras_attn.ops.top_k import few_greatest

DEAD = -1e9
"""Score of missing or forbidden candidates."""


class Candidates(NamedTuple):
    """The next tokens of N = B·K hypotheses.

    Attributes:
        log_probabilities: float32 (N, V), of the model, at most about DEAD where a constraint
            forbids; PAD_ID and START_ID, which are never chosen, are still in it.
    """

    log_probabilities: Any

    @property
    def vocabulary(self):
        """V."""
        return self.log_probabilities.shape[-1]

    def best(self, count):
        """The best `count` (at most V) tokens of each hypothesis.

        Returns:
            log-probabilities float32 (N, count), best first, and tokens int32 (N, count).
        """
        beyond = min(count + 2, self.vocabulary)
        values, tokens = few_greatest(self.log_probabilities, beyond)
        values, place = ops.top_k(_without(tokens, values), min(count, self.vocabulary))
        return values, take_by_row(tokens, ops.cast(place, "int32"))

    def all(self):
        """float32 (N, V), log-probabilities in the order of the vocabulary."""
        return _without(ops.arange(self.vocabulary, dtype="int32"), self.log_probabilities)


def _without(tokens, values):
    """Finite values, those of PAD_ID and START_ID below all others."""
    never = ops.logical_or(ops.equal(tokens, PAD_ID), ops.equal(tokens, START_ID))
    return ops.where(never, 2 * DEAD, ops.maximum(values, DEAD))
