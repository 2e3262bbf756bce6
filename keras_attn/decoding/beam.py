"""Beam search with a pool of finished hypotheses."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.contracts import DEAD, END_ID
from keras_attn.decoding.history import Selection
from keras_attn.decoding.length_penalty import check_length_penalty, length_penalty
from keras_attn.decoding.loop import Strategy
from keras_attn.decoding.pool import Pool
from keras_attn.ops.take_by_row import take_by_row


class BeamState(NamedTuple):
    """State of the search.

    Attributes:
        alive: float32 (B, K). Sum of log-probabilities of each unfinished hypothesis.
        pool: `Pool` of the best K finished ones.
        count: int32 (B,). How many have finished, kept or not; without `early_stopping` 0, and K
            where the search is over.
    """

    alive: Any
    pool: Any
    count: Any


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class Beam(Strategy):
    """Beam search: K unfinished hypotheses, and a pool that keeps the best K finished ones.

    At each step the 2K best extensions are looked at. Those among the first K that end go, frozen,
    into the pool; the best K that do not end live on. An example is done when K have finished, or
    when no unfinished hypothesis can still enter its n best. Hypotheses cut off at the maximal
    length rank behind all finished ones.

    The last is known from a bound. Log-probabilities are ≤ 0, so a hypothesis of sum a that ends
    with m tokens, t < m ≤ T, scores at most a / penalty(m), which is greatest where the penalty is:
    at T for α > 0, else at t + 1, since both penalties grow with m for α > 0 and fall for α < 0.

    Without `early_stopping` an example is not done when K have finished, but when K have and the
    best unfinished one, as if it ended here, is no better than the worst of them. Those are the
    rules of transformers' `generate`, with `ranks_cut_off`.

    Args:
        width: int ≥ 1. K; 1 is greedy decoding.
        alpha: float. Exponent of the length penalty.
        n_best: int, 1 to width. Hypotheses returned.
        normalization: "gnmt" or "average", see `length_penalty`.
        early_stopping: bool. Whether K finished hypotheses end the search.
        ranks_cut_off: bool. Whether hypotheses cut off at the maximal length count as finished;
            False ranks them behind all others.

    Raises:
        ValueError: width < 1, n_best outside 1..width, alpha not finite, unknown normalization,
            early_stopping or ranks_cut_off no bool.
    """

    width: int = 4
    alpha: float = 0.0
    n_best: int = 1
    normalization: str = "gnmt"
    early_stopping: bool = True
    ranks_cut_off: bool = False

    def __post_init__(self):
        check_sizes(width=self.width)
        check_length_penalty(self.alpha, self.normalization)
        check_flag("early_stopping", self.early_stopping)
        check_flag("ranks_cut_off", self.ranks_cut_off)
        if not 1 <= self.n_best <= self.width:
            raise ValueError(
                f"Expected 1 <= n_best <= width={self.width}. Received: n_best={self.n_best}"
            )

    def width_for(self, vocabulary, length):
        """K."""
        return self.width

    def begin(self, batch, width, length):
        """State before the first step: only hypothesis 0 of each example is live."""
        first = ops.where(ops.arange(width) == 0, 0.0, DEAD)
        return BeamState(
            alive=ops.broadcast_to(first, (batch, width)),
            pool=Pool.empty(batch, width),
            count=ops.zeros((batch,), "int32"),
        )

    def advance(self, state, candidates, time, length):
        """One step: `Candidates` of B·K hypotheses to the new state and a `Selection`."""
        width = self.width
        values, tokens = candidates.best(2 * width)
        each = values.shape[-1]
        values, tokens = (ops.reshape(tensor, (-1, width * each)) for tensor in (values, tokens))
        totals = ops.reshape(ops.repeat(state.alive, each, axis=1) + values, (-1, width * each))
        best, place = ops.top_k(totals, 2 * width)
        place = ops.cast(place, "int32")
        values, tokens = (take_by_row(tensor, place) for tensor in (values, tokens))
        parents, ends = place // each, ops.equal(tokens, END_ID)
        state = self._collect(state, best, ends, parents, values, time)
        alive, rank = ops.top_k(ops.where(ends, 2 * DEAD, best), width)
        rank = ops.cast(rank, "int32")
        chosen = (take_by_row(tensor, rank) for tensor in (tokens, values, parents))
        count = state.count
        if not self.early_stopping:
            worst = state.pool.scores[:, -1]
            is_over = (worst > DEAD / 2) & (alive[:, 0] / self._penalty(time + 1) <= worst)
            count = ops.where(is_over, width, count)
        if self.ranks_cut_off:
            is_cut_off = (time + 1 >= length) & (rank >= width)  # Never among the first K.
            alive = ops.where(is_cut_off, DEAD, alive)
        return state._replace(alive=alive, count=count), Selection(*chosen)

    def _collect(self, state, best, ends, parents, values, time):
        """Moves extensions that end, among the first K, into the pool."""
        first = (tensor[:, : self.width] for tensor in (best, ends, parents, values))
        best, ends, parents, values = first
        real = ends & (best > DEAD / 2) & (state.count < self.width)[:, None]
        scores = ops.where(real, best / self._penalty(time + 1), DEAD)
        pool = state.pool.add(scores, time, parents, values)
        count = state.count
        if self.early_stopping:
            count = count + ops.sum(ops.cast(real, "int32"), axis=1)
        return BeamState(state.alive, pool, count)

    def _penalty(self, length):
        return length_penalty(length, self.alpha, self.normalization)

    def done(self, state, time, length):
        """bool scalar: whether every example is done after `time` steps of at most `length`."""
        bound = state.alive[:, 0] / self._penalty(length if self.alpha > 0 else time + 1)
        worst = state.pool.scores[:, self.n_best - 1]
        settled = (worst > DEAD) & (bound <= worst)
        nothing_left = state.alive[:, 0] < DEAD / 2
        return ops.all(settled | nothing_left | (state.count >= self.width))

    def finish(self, state, history):
        """`DecodeResult` with n = n_best."""
        divisor, alive = self._penalty(ops.shape(history.tokens)[0]), state.alive
        if self.ranks_cut_off:
            alive = ops.where(state.count[:, None] >= self.width, DEAD, alive)
        return state.pool.answer(history, alive, divisor, self.n_best, self.ranks_cut_off)
