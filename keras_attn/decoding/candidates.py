"""The candidates of a strategy at one step."""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import DEAD, PAD_ID, START_ID
from keras_attn.ops.log_probabilities import log_probabilities
from keras_attn.ops.take_by_row import take_by_row
from keras_attn.ops.top_k import few_greatest


class Candidates(NamedTuple):
    """The next tokens of N = B·K hypotheses.

    Attributes:
        token_logits: float (N, V), of the model.
        mask: function of log-probabilities float32 (N, V) to the same, at most about DEAD where a
            constraint forbids; None: nothing is forbidden. PAD_ID and START_ID are never chosen.
        applies: bool, or bool scalar. Whether the mask may forbid anything at this step.
    """

    token_logits: Any
    mask: Callable[[Any], Any] | None = None
    applies: Any = True

    @property
    def vocabulary(self):
        """V."""
        return self.token_logits.shape[-1]

    def best(self, count):
        """The best `count` (at most V) tokens of each hypothesis.

        Where nothing is forbidden, no log-probability of another token is written.

        Returns:
            log-probabilities float32 (N, count), best first, and tokens int32 (N, count).
        """
        beyond = min(count + 2, self.vocabulary)
        if self.mask is None:
            values, tokens = self._likeliest(beyond)
        elif self.applies is True:
            values, tokens = few_greatest(self._masked(), beyond)
        else:
            values, tokens = ops.cond(
                self.applies,
                lambda: few_greatest(self._masked(), beyond),
                lambda: self._likeliest(beyond),
            )
        values, place = ops.top_k(_without(tokens, values), min(count, self.vocabulary))
        return values, take_by_row(tokens, ops.cast(place, "int32"))

    def all(self):
        """float32 (N, V), log-probabilities in the order of the vocabulary."""
        return _without(ops.arange(self.vocabulary, dtype="int32"), self._masked())

    def _masked(self):
        values = log_probabilities(self.token_logits)
        return values if self.mask is None else self.mask(values)

    def _likeliest(self, count):
        """The greatest log-probabilities of the model and their tokens."""
        logits = ops.cast(self.token_logits, "float32")
        values, tokens = few_greatest(logits, count)
        total = ops.sum(ops.exp(logits - values[:, :1]), axis=-1, keepdims=True)
        return values - values[:, :1] - ops.log(total), tokens


def _without(tokens, values):
    """Finite values, those of PAD_ID and START_ID below all others."""
    never = ops.logical_or(ops.equal(tokens, PAD_ID), ops.equal(tokens, START_ID))
    return ops.where(never, 2 * DEAD, ops.maximum(values, DEAD))
