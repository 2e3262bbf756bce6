"""A maximum length for each example."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.checks import check_flag
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
        is_free: bool. Whether the end that is forced costs nothing: its log-probability is 0, as
            that of a `forced_eos_token_id` of transformers.
    """

    def __init__(self, lengths, is_free=False):
        self.lengths = ops.convert_to_tensor(lengths, "int32")
        self.is_free = check_flag("is_free", is_free)

    def start(self, batch, vocabulary, length):
        """No token so far."""
        return _Room(ops.zeros((batch,), "int32"), self.lengths)

    def mask(self, log_probabilities, state):
        """Forbids everything but the end at the last token."""
        is_end = ops.equal(ops.arange(log_probabilities.shape[-1]), END_ID)
        is_last = self._is_last(state)[:, None]
        if self.is_free:
            log_probabilities = ops.where(is_last & is_end, 0.0, log_probabilities)
        return forbid(log_probabilities, is_last & ops.logical_not(is_end))

    def applies(self, state):
        """Whether any hypothesis is at its last token."""
        return ops.any(self._is_last(state))

    def _is_last(self, state):
        return state.count + 1 >= state.most

    def update(self, state, tokens):
        """One token more."""
        return state._replace(count=state.count + 1)
