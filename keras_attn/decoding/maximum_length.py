"""A maximum length for each example."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import END_ID
from keras_attn.decoding.constraints import forbid


class _Room(NamedTuple):
    """Tokens so far and maximum tokens of each hypothesis, int32 (N,)."""

    count: Any
    most: Any


class MaximumLength:
    """Ends each example's answer at token `lengths` at the latest: a `Constraint`.

    Args:
        lengths: int32 (B,), ≥ 1. Maximum tokens of each example's answer, including the end token
            and a forced prefix.
    """

    def __init__(self, lengths):
        self.lengths = ops.convert_to_tensor(lengths, "int32")

    def start(self, batch, vocabulary, length):
        """No token so far."""
        return _Room(ops.zeros((batch,), "int32"), self.lengths)

    def mask(self, log_probabilities, state):
        """Forbids everything but the end at the last token."""
        no_end = ops.not_equal(ops.arange(log_probabilities.shape[-1]), END_ID)
        return forbid(log_probabilities, (state.count + 1 >= state.most)[:, None] & no_end)

    def update(self, state, tokens):
        """One token more."""
        return state._replace(count=state.count + 1)
