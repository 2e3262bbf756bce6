"""Greedy decoding."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, DecodeResult
from keras_attn.decoding.history import DEAD, Selection


class GreedyState(NamedTuple):
    """Attributes: finished bool (B, 1); score float32 (B, 1), sum of log-probabilities."""

    finished: Any
    score: Any


@dataclass(frozen=True)
class Greedy:
    """Takes the most probable token at each step; the score is the sum of log-probabilities."""

    width: ClassVar[int] = 1

    def begin(self, batch):
        """State before the first step, for `batch` examples."""
        return GreedyState(ops.zeros((batch, 1), "bool"), ops.zeros((batch, 1), "float32"))

    def advance(self, state, log_probabilities, time, length):
        """One step: log_probabilities float32 (B, 1, V) to the new state and a `Selection`."""
        tokens = ops.cast(ops.argmax(log_probabilities, axis=-1), "int32")
        token_scores = ops.max(log_probabilities, axis=-1, initial=DEAD)
        tokens = ops.where(state.finished, PAD_ID, tokens)
        token_scores = ops.where(state.finished, 0.0, token_scores)
        finished = state.finished | ops.equal(tokens, END_ID)
        selection = Selection(tokens, ops.zeros_like(tokens), token_scores)
        return GreedyState(finished, state.score + token_scores), selection

    def done(self, state, time, length):
        """bool scalar: whether every example is finished."""
        return ops.all(state.finished)

    def finish(self, state, history):
        """`DecodeResult` with n = 1."""
        tokens = ops.moveaxis(history.tokens, 0, 2)
        real = ops.not_equal(tokens, PAD_ID)
        weights = history.weights
        if weights is not None:
            weights = ops.where(real[..., None], ops.moveaxis(weights, 0, 2), 0.0)
        return DecodeResult(
            tokens=tokens,
            lengths=ops.sum(ops.cast(real, "int32"), axis=-1),
            scores=state.score,
            token_scores=ops.moveaxis(history.token_scores, 0, 2),
            weights=weights,
        )
