"""Beam search with a pool of finished hypotheses."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, DecodeResult
from keras_attn.decoding.history import DEAD, Selection, read_back


def length_penalty(length, alpha):
    """GNMT's divisor of a hypothesis' score: ((5 + n) / 6)^α, n counting the end token.

    Args:
        length: int (...). n in tokens.
        alpha: float. α; 0 turns the penalty off, > 0 favors long hypotheses, < 0 short ones.

    Returns:
        float32 (...).

    Example:
        >>> float(length_penalty(7, 1.0))
        2.0

    Source: Wu et al. 2016, arXiv:1609.08144, equation 14.
    """
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


class BeamState(NamedTuple):
    """State of the search.

    Attributes:
        alive: float32 (B, K). Sum of log-probabilities of each unfinished hypothesis.
        scores: float32 (B, K). Penalized scores of the finished, best first; DEAD where none.
        ends: int32 (B, K). Step at which each finished one ended.
        slots: int32 (B, K). The unfinished hypothesis that it was.
        end_scores: float32 (B, K). Log-probability of its END_ID.
        count: int32 (B,). How many have finished, kept or not.
    """

    alive: Any
    scores: Any
    ends: Any
    slots: Any
    end_scores: Any
    count: Any


@dataclass(frozen=True)
class Beam:
    """Beam search: K unfinished hypotheses, and a pool that keeps the best K finished ones.

    At each step the 2K best extensions are looked at. Those among the first K that end go, frozen,
    into the pool; the best K that do not end live on. An example is done when K have finished, or
    when no unfinished hypothesis can still enter its n best. Hypotheses cut off at the maximal
    length rank behind all finished ones.

    Args:
        width: int ≥ 1. K; 1 is greedy decoding.
        alpha: float. Exponent of GNMT's length penalty, see `length_penalty`.
        n_best: int, 1 to width. Hypotheses returned.

    Raises:
        ValueError: width < 1 or n_best outside 1..width.
    """

    width: int = 4
    alpha: float = 0.0
    n_best: int = 1

    def __post_init__(self):
        if not isinstance(self.width, int) or self.width < 1:
            raise ValueError(f"Expected an int width >= 1. Received: width={self.width!r}")
        if not math.isfinite(self.alpha):
            raise ValueError(f"Expected a finite alpha. Received: alpha={self.alpha}")
        if not 1 <= self.n_best <= self.width:
            raise ValueError(
                f"Expected 1 <= n_best <= width={self.width}. Received: n_best={self.n_best}"
            )

    def begin(self, batch):
        """State before the first step: only hypothesis 0 of each example is live."""
        shape = (batch, self.width)
        first = ops.arange(self.width) == 0
        return BeamState(
            alive=ops.broadcast_to(ops.where(first, 0.0, DEAD), shape),
            scores=ops.full(shape, DEAD, dtype="float32"),
            ends=ops.zeros(shape, "int32"),
            slots=ops.zeros(shape, "int32"),
            end_scores=ops.zeros(shape, "float32"),
            count=ops.zeros((batch,), "int32"),
        )

    def advance(self, state, log_probabilities, time, length):
        """One step: log_probabilities float32 (B, K, V) to the new state and a `Selection`."""
        vocabulary = log_probabilities.shape[-1]
        totals = state.alive[..., None] + log_probabilities
        totals = ops.reshape(totals, (-1, self.width * vocabulary))
        best, index = ops.top_k(totals, min(2 * self.width, self.width * vocabulary))
        index = ops.cast(index, "int32")
        parents, tokens = index // vocabulary, index % vocabulary
        ends = ops.equal(tokens, END_ID)
        state = self._collect(state, best, ends, parents, log_probabilities, time)
        alive, rank = ops.top_k(ops.where(ends, 2 * DEAD, best), self.width)
        parents, tokens = (ops.take_along_axis(one, rank, axis=1) for one in (parents, tokens))
        log_probabilities = ops.reshape(log_probabilities, (-1, self.width * vocabulary))
        token_scores = ops.take_along_axis(log_probabilities, parents * vocabulary + tokens, axis=1)
        return state._replace(alive=alive), Selection(tokens, parents, token_scores)

    def _collect(self, state, best, ends, parents, log_probabilities, time):
        """Moves extensions that end, among the first K, into the pool."""
        width = self.width
        best, ends, parents = best[:, :width], ends[:, :width], parents[:, :width]
        real = ends & (best > DEAD / 2) & (state.count < width)[:, None]
        scores = ops.where(real, best / length_penalty(time + 1, self.alpha), DEAD)
        end_scores = ops.take_along_axis(log_probabilities[..., END_ID], parents, axis=1)
        times = ops.broadcast_to(ops.cast(time, "int32"), ops.shape(parents))
        both = (
            (state.scores, scores),
            (state.ends, times),
            (state.slots, parents),
            (state.end_scores, end_scores),
        )
        pool = [ops.concatenate(pair, axis=1) for pair in both]
        _, rank = ops.top_k(pool[0], width)
        pool = [ops.take_along_axis(one, rank, axis=1) for one in pool]
        count = state.count + ops.sum(ops.cast(real, "int32"), axis=1)
        return BeamState(state.alive, *pool, count)

    def done(self, state, time, length):
        """bool scalar: whether every example is done after `time` steps of at most `length`."""
        reachable = length if self.alpha > 0 else time + 1
        bound = state.alive[:, 0] / length_penalty(reachable, self.alpha)
        worst = state.scores[:, self.n_best - 1]
        settled = (worst > DEAD / 2) & (bound <= worst)
        return ops.all(settled | (state.count >= self.width))

    def finish(self, state, history):
        """`DecodeResult` with n = n_best."""
        length = history.tokens.shape[0]
        cut_off = ops.where(state.alive > DEAD / 2, state.alive, DEAD)
        cut_off = cut_off / length_penalty(length, self.alpha)
        slots = ops.broadcast_to(ops.arange(self.width, dtype="int32"), ops.shape(state.slots))
        both = (
            (state.scores, cut_off),
            (state.ends, ops.full_like(state.ends, length)),
            (state.slots, slots),
            (state.end_scores, ops.zeros_like(state.end_scores)),
        )
        both = [ops.concatenate(pair, axis=1) for pair in both]
        place = ops.arange(2 * self.width, dtype="float32")
        missing = ops.concatenate([state.scores, state.alive], axis=1) < DEAD / 2
        _, rank = ops.top_k(-ops.where(missing, place + 2 * self.width, place), self.n_best)
        scores, ends, slots, end_scores = (ops.take_along_axis(one, rank, axis=1) for one in both)
        missing = ops.take_along_axis(missing, rank, axis=1)
        ends = ops.where(missing, -1, ends)
        tokens, token_scores, weights = read_back(history, ends, slots, end_scores)
        lengths = ops.sum(ops.cast(ops.not_equal(tokens, PAD_ID), "int32"), axis=-1)
        scores = ops.where(missing, DEAD, scores)
        return DecodeResult(tokens, lengths, scores, token_scores, weights)
