"""Greedy decoding."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, DecodeResult
from keras_attn.decoding.history import Selection
from keras_attn.decoding.loop import Strategy


class GreedyState(NamedTuple):
    """Attributes: finished bool (B, 1); score float32 (B, 1), sum of log-probabilities."""

    finished: Any
    score: Any


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class Greedy(Strategy):
    """Takes the most probable token at each step; the score is the sum of log-probabilities."""

    def width_for(self, vocabulary, length):
        """1."""
        return 1

    def begin(self, batch, width, length):
        """State before the first step, for `batch` examples."""
        return GreedyState(ops.zeros((batch, 1), "bool"), ops.zeros((batch, 1), "float32"))

    def advance(self, state, candidates, time, length):
        """One step: `Candidates` of B hypotheses to the new state and a `Selection`."""
        token_scores, tokens = candidates.best(1)
        tokens = ops.where(state.finished, PAD_ID, tokens)
        token_scores = ops.where(state.finished, 0.0, token_scores)
        finished = state.finished | ops.equal(tokens, END_ID)
        return GreedyState(finished, state.score + token_scores), Selection(tokens, token_scores)

    def done(self, state, time, length):
        """bool scalar: whether every example is finished."""
        return ops.all(state.finished)

    def finish(self, state, history):
        """`DecodeResult` with n = 1."""
        tokens, token_scores, weights = history.as_written()
        lengths = ops.sum(ops.cast(ops.not_equal(tokens, PAD_ID), "int32"), axis=-1)
        return DecodeResult(tokens, lengths, state.score, token_scores, weights)
