"""Random sampling from the model."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import DEAD, END_ID, PAD_ID, DecodeResult
from keras_attn.decoding.history import Selection
from keras_attn.decoding.loop import Strategy
from keras_attn.ops.counter_random import counter_uniform
from keras_attn.ops.take_by_row import take_by_row


class SamplingState(NamedTuple):
    """State of the draws.

    Attributes:
        uniform: float32 (T, B, K). The random numbers of all steps, in [0, 1).
        finished: bool (B, K).
        score: float32 (B, K). Sum of log-probabilities.
    """

    uniform: Any
    finished: Any
    score: Any


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class Sampling(Strategy):
    """Samples n sequences per example, with temperature, top-k and top-p.

    First p^(1/temperature), then the `top_k` most probable tokens, then of these the fewest whose
    share is at least `top_p` (always one or more), then one of them by its share. The score is the
    sum of log-probabilities under the unmodified model. The n samples are sorted by it, so to get a
    random one pick a random rank.

    A draw is a function of the seed, the step and the row, on every backend and with and without
    XLA. With one seed for all, the row is the sample's index in the batch; with a seed per example,
    it is the index among the example's n, so the result does not depend on the rest of the batch.
    `top_p` without `top_k` sorts the vocabulary at each step.

    Args:
        temperature: float > 0. 1 is the model; towards 0 it becomes greedy.
        top_k: int ≥ 1, or None for all tokens.
        top_p: 0 < float ≤ 1; 1 for all tokens.
        seed: int, or an int tensor () or (B,), such as an input of the graph; its lower 32 bits.
        n: int ≥ 1. Samples per example.

    Raises:
        ValueError: a number out of its range, or a seed of another shape.

    Source: top-k, Fan et al. 2018, arXiv:1805.04833; top-p, Holtzman et al. 2020, arXiv:1904.09751.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: Any = 0
    n: int = 1

    def __post_init__(self):
        if not 0 < self.temperature < float("inf"):
            raise ValueError(
                f"Expected a finite temperature > 0. Received: temperature={self.temperature}"
            )
        if self.top_k is not None:
            check_sizes(top_k=self.top_k)
        if not 0 < self.top_p <= 1:
            raise ValueError(f"Expected 0 < top_p <= 1. Received: top_p={self.top_p}")
        check_sizes(n=self.n)
        if len(getattr(self.seed, "shape", ())) > 1:
            raise ValueError(f"Expected a seed of shape () or (B,). Received: seed={self.seed}")

    def width_for(self, vocabulary, length):
        """n."""
        return self.n

    def begin(self, batch, width, length):
        """State before the first step, with the random numbers of all `length`."""
        seed = self.seed if hasattr(self.seed, "shape") else self.seed & 0xFFFFFFFF
        row = ops.arange(width, dtype="int32")[None]
        if len(getattr(seed, "shape", ())) == 1:
            seed = ops.convert_to_tensor(seed)[:, None]
        else:
            row = ops.arange(batch, dtype="int32")[:, None] * width + row
        times = ops.arange(length, dtype="int32")[:, None, None]
        rows = ops.broadcast_to(row, (batch, width))
        return SamplingState(
            uniform=counter_uniform(seed, times, rows),
            finished=ops.zeros((batch, width), "bool"),
            score=ops.zeros((batch, width), "float32"),
        )

    def advance(self, state, candidates, time, length):
        """One step: `Candidates` of B·K hypotheses to the new state and a `Selection`."""
        uniform = ops.reshape(ops.take(state.uniform, time, axis=0), (-1, 1))
        tokens, token_scores = self._draw(candidates, uniform)
        tokens, token_scores = (
            ops.reshape(tensor, (-1, self.n)) for tensor in (tokens, token_scores)
        )
        tokens = ops.where(state.finished, PAD_ID, tokens)
        token_scores = ops.where(state.finished, 0.0, token_scores)
        finished = state.finished | ops.equal(tokens, END_ID)
        state = SamplingState(state.uniform, finished, state.score + token_scores)
        return state, Selection(tokens, token_scores)

    def _draw(self, candidates, uniform):
        """Tokens int32 (N, 1) and their log-probabilities, for uniform float32 (N, 1)."""
        if self.top_k is None and self.top_p == 1:
            values = candidates.all()
        else:
            values, tokens = candidates.best(self.top_k or candidates.vocabulary)
        greatest = ops.max(values, axis=-1, keepdims=True)
        shares = ops.exp((values - greatest) / self.temperature)
        shares = ops.where(values > DEAD / 2, shares, 0.0)
        cumulative = ops.cumsum(shares, axis=-1)
        if self.top_p < 1:
            inside = cumulative - shares < self.top_p * cumulative[:, -1:]
            shares = ops.where(inside, shares, 0.0)
            cumulative = ops.cumsum(shares, axis=-1)
        place = _first_above(cumulative, uniform * cumulative[:, -1:], shares > 0)
        if self.top_k is not None or self.top_p < 1:
            return take_by_row(tokens, place), take_by_row(values, place)
        return place, take_by_row(values, place)

    def done(self, state, time, length):
        """bool scalar: whether every sample is finished."""
        return ops.all(state.finished)

    def finish(self, state, history):
        """`DecodeResult` with n samples, the most probable first."""
        scores, rank = ops.top_k(state.score, self.n)
        tokens, token_scores, weights = (
            None if array is None else take_by_row(array, ops.cast(rank, "int32"))
            for array in history.as_written()
        )
        lengths = ops.sum(ops.cast(ops.not_equal(tokens, PAD_ID), "int32"), axis=-1)
        return DecodeResult(tokens, lengths, scores, token_scores, weights)


def _first_above(cumulative, threshold, possible):
    """int32 (N, 1): the first possible place above the threshold, else the last possible one.

    Rounding may leave none above, or make the sums fall where a share is 0.
    """
    length = cumulative.shape[-1]
    place = ops.arange(length, dtype="int32")
    above = ops.where(cumulative > threshold, 2 * length - place, place)
    last = ops.max(ops.where(possible, above, 0), axis=-1, keepdims=True)
    return ops.where(last > length, 2 * length - last, last)
