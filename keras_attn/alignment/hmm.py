"""The hidden Markov model of word alignment."""

import numpy as np

from keras_attn.alignment.compiled import compiled
from keras_attn.alignment.expectation import TINY, Expectation
from keras_attn.alignment.jumps import Jumps

SMOOTHING = 0.1
"""Jumps of each distance that are counted beside the expected ones: without them, a few pairs of
the same order would make every other order impossible."""


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
            lexical: float (C,). t(f_j | e_i) of each cell.
            counts: from `empty_counts`, or None.

        Raises:
            ValueError: counts of sentences that are longer than the reach of the jumps.
        """
        if counts is not None and batch.source_lengths.max() > self.jumps.reach:
            raise ValueError(
                f"Expected sentences of at most {self.jumps.reach} words to count jumps of. "
                f"Received: {batch.source_lengths.max()}"
            )
        nothing = np.zeros((0, 0))
        counted = {"jumps": nothing, "visits": nothing} if counts is None else counts
        posteriors, likelihoods = np.empty(len(lexical)), np.empty(len(batch.rows))
        _forward_backward(
            lexical,
            *self._shared(batch),
            TINY,
            counts is not None,
            counted["jumps"],
            counted["visits"],
            posteriors,
            likelihoods,
        )
        return Expectation(posteriors, likelihoods)

    def best(self, batch, lexical) -> np.ndarray:
        """The most probable alignment (Viterbi): int64, 0 for NULL, i + 1 for source word i."""
        links = np.empty(batch.target_lengths.sum(), "int64")
        _viterbi(lexical, *self._shared(batch), TINY, links)
        return links

    def update(self, counts, prior=0.0):
        """Moves the weights of jumps to expected counts and `SMOOTHING`, see `Jumps.update`."""
        self.jumps.update(counts["jumps"], counts["visits"], prior + SMOOTHING)

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

    def _shared(self, batch):
        """What both algorithms need of a batch and of the model."""
        longest = int(batch.source_lengths.max())
        return (
            batch.starts,
            batch.source_lengths,
            batch.target_lengths,
            self.jumps.matrix(longest),
            np.ascontiguousarray(1 / self.jumps.normalizers(longest)),
            float(self.null_probability),
        )


@compiled
def _forward_backward(
    lexical,
    starts,
    lengths,
    word_counts,
    matrix,
    shares,
    null,
    least,
    counting,
    jumps,
    visits,
    posteriors,
    likelihoods,
):
    """Posteriors and log-likelihoods of a batch; adds expected jumps where they are counted.

    States are the last linked source position plus 1; 0 is that of no link yet.

    Args:
        lexical: float (C,), of the cells of the batch.
        starts: int64 (B + 1,), of the batch.
        lengths, word_counts: int64 (B,), source and target words.
        matrix: float (1 + L, L). Weights of jumps from the states to the positions.
        shares: float (1 + L, 1 + L). For each length of the source and each state, 1 / the sum of
            the weights that are possible.
        null: p_0.
        least: smallest sum of probabilities that is divided by.
        counting: whether to add to jumps, (1 + L, L), and visits, (1 + L, 1 + L).
        posteriors: float (C,), a result.
        likelihoods: float (B,), a result.
    """
    for pair in range(len(lengths)):
        length, count = lengths[pair], word_counts[pair]
        share = shares[length]
        cells = lexical[starts[pair] : starts[pair + 1]].reshape((count, 1 + length))
        links = posteriors[starts[pair] : starts[pair + 1]].reshape((count, 1 + length))
        forward = np.zeros((1 + count, 1 + length))
        forward[0, 0] = 1.0
        likelihoods[pair] = 0.0
        scales = np.empty(count)
        for word in range(count):
            last, now, empty = forward[word], forward[1 + word], null * cells[word, 0]
            arrived = links[word, 1:]  # Until the way back multiplies it.
            arrived[:] = 0.0
            for state in range(1 + length):
                weight = last[state] * share[state]
                for position in range(length):
                    arrived[position] += weight * matrix[state, position]
            now[0] = last[0] * empty
            total = now[0]
            for position in range(length):
                linked = (1 - null) * cells[word, 1 + position]
                now[1 + position] = last[1 + position] * empty + arrived[position] * linked
                total += now[1 + position]
            scales[word] = max(total, least)
            for state in range(1 + length):
                now[state] /= scales[word]
            likelihoods[pair] += np.log(scales[word])
        after, leaving = np.ones(1 + length), np.empty(length)
        for word in range(count - 1, -1, -1):
            last, empty = forward[word], null * cells[word, 0]
            unlinked = 0.0
            for state in range(1 + length):
                after[state] /= scales[word]
                unlinked += last[state] * after[state]
            for position in range(length):
                linked = (1 - null) * cells[word, 1 + position]
                leaving[position] = after[1 + position] * linked
                links[word, 1 + position] *= leaving[position]
            links[word, 0] = unlinked * empty
            for state in range(1 + length):
                mass, onward = last[state] * share[state], 0.0
                for position in range(length):
                    onward += matrix[state, position] * leaving[position]
                after[state] = after[state] * empty + share[state] * onward
                if counting:
                    visits[length, state] += mass * onward
                    for position in range(length):
                        jumps[state, position] += mass * leaving[position] * matrix[state, position]


@compiled
def _viterbi(lexical, starts, lengths, word_counts, matrix, shares, null, least, links):
    """The most probable links of a batch, int64, pair by pair.

    Other arguments are those of `_forward_backward`.
    """
    done = 0
    for pair in range(len(lengths)):
        length, count = lengths[pair], word_counts[pair]
        share = shares[length]
        cells = lexical[starts[pair] : starts[pair + 1]].reshape((count, 1 + length))
        came = np.empty((count, 1 + length), np.int64)
        score, now = np.zeros(1 + length), np.empty(1 + length)
        score[0] = 1.0
        for word in range(count):
            for state in range(1 + length):
                now[state] = score[state] * null * cells[word, 0]
                came[word, state] = -1
            for position in range(length):
                best, origin = -1.0, 0
                for state in range(1 + length):
                    path = score[state] * share[state] * matrix[state, position]
                    if path > best:
                        best, origin = path, state
                best *= (1 - null) * cells[word, 1 + position]
                if best > now[1 + position]:
                    now[1 + position], came[word, 1 + position] = best, origin
            score[:] = now / max(now.max(), least)
        state = np.argmax(score)
        for word in range(count - 1, -1, -1):
            origin = came[word, state]
            links[done + word] = state if origin >= 0 else 0
            if origin >= 0:
                state = origin
        done += count
