"""Exhaustive search, for tests and small vocabularies."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import DEAD, END_ID, PAD_ID, START_ID
from keras_attn.decoding.history import Selection
from keras_attn.decoding.length_penalty import check_length_penalty, length_penalty
from keras_attn.decoding.loop import Strategy
from keras_attn.decoding.pool import Pool

MOST = 65_536
"""Maximum number of sequences that `Exhaustive` scores."""


class ExhaustiveState(NamedTuple):
    """State of the search.

    Attributes:
        alive: float32 (B, K). Sum of log-probabilities of each sequence without its end.
        pool: `Pool` of the n best finished ones.
    """

    alive: Any
    pool: Any


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class Exhaustive(Strategy):
    """Scores every sequence; hypothesis k is the k-th of the Uᵀ unfinished sequences of T tokens.

    U = V − 3: PAD_ID and START_ID are never chosen, END_ID ends a sequence. Ranked as in `Beam`,
    finished ones first.

    Args:
        alpha: float. Exponent of the length penalty.
        n_best: int ≥ 1. Hypotheses returned.
        normalization: "gnmt" or "average", see `length_penalty`.

    Raises:
        ValueError: n_best < 1, alpha not finite, unknown normalization; when decoding, Uᵀ > 65,536.
    """

    alpha: float = 0.0
    n_best: int = 1
    normalization: str = "gnmt"

    def __post_init__(self):
        check_length_penalty(self.alpha, self.normalization)
        check_sizes(n_best=self.n_best)

    def width_for(self, vocabulary, length):
        """Uᵀ."""
        if not isinstance(length, int):
            raise ValueError(f"Expected an int max_length. Received: max_length={length}")
        width = (vocabulary - 3) ** length
        if width > MOST:
            raise ValueError(
                f"Expected at most {MOST} sequences, (V - 3)^T. "
                f"Received: V={vocabulary}, T={length}, {width} sequences"
            )
        return width

    def begin(self, batch, width, length):
        """State before the first step."""
        return ExhaustiveState(ops.zeros((batch, width), "float32"), Pool.empty(batch, self.n_best))

    def advance(self, state, candidates, time, length):
        """One step: `Candidates` of B·K hypotheses to the new state and a `Selection`."""
        width, vocabulary = state.alive.shape[1], candidates.vocabulary
        going_on = [token for token in range(vocabulary) if token not in (PAD_ID, START_ID, END_ID)]
        digits = len(going_on)
        strides = ops.array([digits**place for place in range(length - 1, -1, -1)], "int32")
        sequence, stride = ops.arange(width, dtype="int32"), ops.take(strides, time)
        tokens = ops.take(ops.array(going_on, "int32"), sequence // stride % digits)
        tokens = ops.broadcast_to(tokens, ops.shape(state.alive))
        values = ops.reshape(candidates.all(), (-1, width, vocabulary))
        token_scores = ops.take_along_axis(values, tokens[..., None], axis=2)[..., 0]
        end_scores = values[..., END_ID]
        ended = state.alive + end_scores
        real = (ended > DEAD / 2) & ops.equal(sequence % (stride * digits), 0)
        scores = ops.where(real, ended / self._penalty(time + 1), DEAD)
        slots = ops.broadcast_to(sequence, ops.shape(scores))
        pool = state.pool.add(scores, time, slots, end_scores)
        state = ExhaustiveState(state.alive + token_scores, pool)
        return state, Selection(tokens, token_scores)

    def _penalty(self, length):
        return length_penalty(length, self.alpha, self.normalization)

    def done(self, state, time, length):
        """bool scalar: whether no sequence is left."""
        return ops.all(state.alive < DEAD / 2)

    def finish(self, state, history):
        """`DecodeResult` with n = n_best."""
        divisor = self._penalty(history.tokens.shape[0])
        return state.pool.answer(history, state.alive, divisor, self.n_best)
