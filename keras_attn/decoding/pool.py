"""The finished hypotheses of a search."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import DEAD, PAD_ID, DecodeResult
from keras_attn.ops.take_by_row import take_by_row


class Pool(NamedTuple):
    """The best F finished hypotheses of each example, best first.

    Attributes:
        scores: float32 (B, F). Normalized scores; DEAD for none.
        ends: int32 (B, F). Step at which each ended.
        slots: int32 (B, F). The unfinished hypothesis that it was.
        end_scores: float32 (B, F). Log-probability of its END_ID.
    """

    scores: Any
    ends: Any
    slots: Any
    end_scores: Any

    @classmethod
    def empty(cls, batch, size):
        """A pool without hypotheses."""
        shape = (batch, size)
        return cls(
            ops.full(shape, DEAD, dtype="float32"),
            ops.zeros(shape, "int32"),
            ops.zeros(shape, "int32"),
            ops.zeros(shape, "float32"),
        )

    def add(self, scores, time, slots, end_scores):
        """This pool with those that end at step `time`, (B, any): DEAD scores for none."""
        times = ops.broadcast_to(ops.cast(time, "int32"), ops.shape(scores))
        both = self._joined((scores, times, slots, end_scores))
        return both._chosen(ops.top_k(both.scores, self.scores.shape[1])[1])

    def answer(self, history, alive, divisor, n_best, by_score=False):
        """The best finished hypotheses, then the best truncated ones.

        Args:
            history: `History` of T steps.
            alive: float32 (B, K). Log-probability of each unfinished hypothesis.
            divisor: float32 scalar. Length penalty of these.
            n_best: int. n.
            by_score: bool. Whether truncated ones stand among the finished, by their scores.

        Returns:
            `DecodeResult`.
        """
        length, width = ops.shape(history.tokens)[0], alive.shape[1]
        alive, slots = ops.top_k(alive, min(n_best, width))
        ends = ops.full_like(slots, length, dtype="int32")
        alive = ops.where(alive > DEAD / 2, alive / divisor, DEAD)
        cut_off = (alive, ends, ops.cast(slots, "int32"), ops.zeros_like(alive))
        both = self._joined(cut_off)
        missing = ops.equal(both.scores, DEAD)
        place = ops.arange(both.scores.shape[1], dtype="float32")
        place = ops.where(missing, place + both.scores.shape[1], place)
        if by_score:
            place = -both.scores
        scores, ends, slots, end_scores = both._chosen(ops.top_k(-place, n_best)[1])
        missing = ops.equal(scores, DEAD)
        ends = ops.where(missing, -1, ends)
        tokens, token_scores, weights = history.read_back(ends, slots, end_scores)
        lengths = ops.sum(ops.cast(ops.not_equal(tokens, PAD_ID), "int32"), axis=-1)
        return DecodeResult(tokens, lengths, scores, token_scores, weights)

    def _joined(self, others):
        return Pool(*(ops.concatenate(pair, axis=1) for pair in zip(self, others)))

    def _chosen(self, rank):
        rank = ops.cast(rank, "int32")
        return Pool(*(take_by_row(array, rank) for array in self))
