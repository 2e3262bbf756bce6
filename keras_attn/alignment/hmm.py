"""The hidden Markov model of word alignment."""

from typing import NamedTuple

import numpy as np

from keras_attn.alignment.expectation import TINY, Expectation
from keras_attn.alignment.jumps import Jumps


class _Chain(NamedTuple):
    """A batch as a Markov chain over the last linked source position, −1 before the first link.

    Attributes:
        linked: float (B, T, S). (1 − p_0) t(f_j | e_i).
        empty: float (B, T, 1). p_0 t(f_j | NULL).
        valid: bool (B, T). Whether there is a target word.
        matrix: float (1 + S, S). Weights of jumps.
        shares: float (B, 1 + S). 1 / the sum of the weights that are possible.
    """

    linked: np.ndarray
    empty: np.ndarray
    valid: np.ndarray
    matrix: np.ndarray
    shares: np.ndarray


class JumpDistortion:
    """The HMM's distortion: the next source position depends on the last, by their distance.

        p(f, a | e) = Π_j t(f_j | e_{a_j}) p(a_j | a_{j-1}, l)

    A word is linked to NULL with probability p_0, and the position before it is remembered.

    Args:
        jumps: `Jumps`.
        null_probability: float in (0, 1). p_0, which is not learned.

    Source: Vogel et al. 1996, C96-2141; NULL: Och and Ney 2003, J03-1002, 2.1.1. Differs: weights
    of jumps are normalized over the positions of the sentence, and learned with these normalizers.
    """

    def __init__(self, jumps, null_probability):
        self.jumps, self.null_probability = jumps, null_probability

    def empty_counts(self):
        """Expected jumps and visits of `Jumps.update`, all 0."""
        reach = self.jumps.reach
        return {"jumps": np.zeros((1 + reach, reach)), "visits": np.zeros((1 + reach, 1 + reach))}

    def expect(self, batch, lexical, counts=None) -> Expectation:
        """Posteriors of a batch by the forward–backward algorithm; jumps are added to the counts.

        Args:
            batch: `Batch`.
            lexical: float (B, T, 1 + S). t(f_j | e_i), 0 at padding.
            counts: from `empty_counts`, or None.
        """
        chain = self._chain(batch, lexical)
        forward, arriving, scales = _forward(chain)
        backward, leaving = _backward(chain, scales)
        empty = np.sum(forward[:, :-1] * backward[:, 1:], axis=2, keepdims=True)
        empty *= chain.empty / scales[..., None]
        posteriors = np.concatenate([empty, arriving * leaving], axis=2)
        posteriors *= chain.valid[..., None]
        if counts is not None:
            _count_jumps(counts, batch, chain, forward, leaving)
        return Expectation(posteriors, np.log(scales).sum(axis=1))

    def best(self, batch, lexical) -> np.ndarray:
        """The most probable alignment (Viterbi), int (B, T): 0 is NULL, i + 1 source word i."""
        chain = self._chain(batch, lexical)
        rows, words, places = lexical.shape
        score, came = np.zeros((rows, places)), np.full((words, rows, places), -1)
        score[:, 0] = 1
        for word in range(words):
            paths = (score * chain.shares)[:, :, None] * chain.matrix
            moved = np.max(paths, axis=1) * chain.linked[:, word]
            now = score * chain.empty[:, word]
            came[word, :, 1:] = np.where(now[:, 1:] < moved, np.argmax(paths, axis=1), -1)
            now[:, 1:] = np.maximum(now[:, 1:], moved)
            now /= np.maximum(now.max(axis=1, keepdims=True), TINY)
            score = np.where(chain.valid[:, word, None], now, score)
        return _trace_back(came, np.argmax(score, axis=1), batch.target_lengths)

    def update(self, counts, prior=0.0):
        """Moves the weights of jumps to expected counts, see `Jumps.update`."""
        self.jumps.update(counts["jumps"], counts["visits"], prior)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is to be saved."""
        return {"jumps": self.jumps.weights}

    @classmethod
    def of_arrays(cls, arrays, null_probability):
        """The distortion that was saved."""
        weights = arrays["jumps"]
        if weights.ndim != 1 or len(weights) < 2 or len(weights) % 2 or not np.all(weights > 0):
            raise ValueError(
                "Expected an even number of positive weights of jumps. Received: shape "
                f"{weights.shape}"
            )
        return cls(Jumps(len(weights) // 2, weights), null_probability)

    @classmethod
    def of_batches(cls, batches, null_probability):
        """The distortion before training, for the lengths of batches."""
        reach = max((int(batch.source_lengths.max()) for batch in batches), default=1)
        return cls(Jumps(reach), null_probability)

    def _chain(self, batch, lexical):
        words, length = lexical.shape[1], lexical.shape[2] - 1
        return _Chain(
            linked=lexical[:, :, 1:] * (1 - self.null_probability),
            empty=lexical[:, :, :1] * self.null_probability,
            valid=np.arange(words) < batch.target_lengths[:, None],
            matrix=self.jumps.matrix(length),
            shares=1 / self.jumps.normalizers(length)[batch.source_lengths],
        )


def _forward(chain):
    """Scaled forward probabilities (B, 1 + T, 1 + S), those moved (B, T, S), scales (B, T)."""
    rows, words, length = chain.linked.shape
    forward, arriving = np.zeros((rows, 1 + words, 1 + length)), np.zeros((rows, words, length))
    scales = np.ones((rows, words))
    forward[:, 0, 0] = 1
    for word in range(words):
        last, valid = forward[:, word], chain.valid[:, word]
        arriving[:, word] = (last * chain.shares) @ chain.matrix
        now = last * chain.empty[:, word]
        now[:, 1:] += arriving[:, word] * chain.linked[:, word]
        scales[:, word] = np.where(valid, np.maximum(now.sum(axis=1), TINY), 1)
        forward[:, 1 + word] = np.where(valid[:, None], now / scales[:, word, None], last)
    return forward, arriving, scales


def _backward(chain, scales):
    """Scaled backward probabilities (B, 1 + T, 1 + S), and those that words are linked with."""
    rows, words, length = chain.linked.shape
    backward, leaving = np.ones((rows, 1 + words, 1 + length)), np.zeros((rows, words, length))
    for word in reversed(range(words)):
        after = backward[:, 1 + word] / scales[:, word, None]
        leaving[:, word] = after[:, 1:] * chain.linked[:, word]
        now = after * chain.empty[:, word] + chain.shares * (leaving[:, word] @ chain.matrix.T)
        backward[:, word] = np.where(chain.valid[:, word, None], now, backward[:, 1 + word])
    return backward, leaving


def _count_jumps(counts, batch, chain, forward, leaving):
    """Adds the expected jumps of a batch, from each position and to each."""
    length = chain.linked.shape[2]
    left = forward[:, :-1] * chain.shares[:, None]
    moved = left.reshape(-1, 1 + length).T @ leaving.reshape(-1, length)
    counts["jumps"][: 1 + length, :length] += moved * chain.matrix
    visits = np.sum(left * (leaving @ chain.matrix.T), axis=1)
    np.add.at(counts["visits"][:, : 1 + length], batch.source_lengths, visits)


def _trace_back(came, ends, target_lengths):
    """Alignments (B, T) from the last states (B,) and the states before (T, B, 1 + S).

    A state is the last linked position plus 1; the state before is −1 where a word is linked to
    NULL, which keeps the state.
    """
    words, rows, _ = came.shape
    state, links = ends, np.zeros((rows, words), "int64")
    for word in reversed(range(words)):
        before = came[word, np.arange(rows), state]
        moved = (before >= 0) & (word < target_lengths)
        links[:, word] = np.where(moved, state, 0)
        state = np.where(moved, before, state)
    return links
