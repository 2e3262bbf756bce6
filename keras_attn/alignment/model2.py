"""IBM Model 2: the source position depends on the target position and both lengths."""

import numpy as np

from keras_attn.alignment.compiled import compiled
from keras_attn.alignment.conditional_table import ConditionalTable
from keras_attn.alignment.expectation import (
    Expectation,
    independent_expectation,
    most_probable,
)


class PositionDistortion:
    """IBM Model 2's distortion, a(i | j, l, m) for source lengths l and target lengths m.

        p(f, a | e) = Π_j t(f_j | e_{a_j}) a(a_j | j, l, m)

    Args:
        lengths: int (N, 2). The distinct pairs (l, m) of the corpus, sorted. Others are uniform.
        values: float (Σ m (1 + l),). a by pair of lengths, then j, then i. Default: uniform.

    Source: Brown et al. 1993, Computational Linguistics 19(2), 4.2.
    """

    def __init__(self, lengths, values=None):
        self.lengths = np.asarray(lengths, "int64").reshape(-1, 2)
        widths = np.repeat(1 + self.lengths[:, 0], self.lengths[:, 1])
        self._table = ConditionalTable(np.repeat(np.arange(len(widths)), widths), values)
        sizes = self.lengths[:, 1] * (1 + self.lengths[:, 0])
        starts = np.cumsum(sizes) - sizes
        self._first = dict(zip(map(tuple, self.lengths.tolist()), starts.tolist(), strict=True))

    def empty_counts(self):
        """Expected links of each entry, all 0."""
        return {"links": np.zeros(len(self._table))}

    def expect(self, batch, lexical, counts=None) -> Expectation:
        """Posteriors of a batch, whose links are added to the counts.

        Args:
            batch: `Batch`.
            lexical: float (C,). t(f_j | e_i) of each cell; becomes the posteriors.
            counts: from `empty_counts`, or None.

        Raises:
            ValueError: counts of pairs whose lengths are not in the table.
        """
        entries = self._entries(batch)
        if counts is not None and np.any(entries < 0):
            raise ValueError("Expected lengths of the table to count links of. Received: others")
        self._multiply(batch, entries, lexical)
        expectation = independent_expectation(batch, lexical)
        if counts is not None:
            _add(expectation.posteriors, batch.starts, entries, counts["links"])
        return expectation

    def best(self, batch, lexical) -> np.ndarray:
        """The most probable alignment, int64, see `most_probable`."""
        return most_probable(batch, lexical * self.probabilities(batch))

    def update(self, counts, prior=0.0):
        """Sets a from expected links, with a Dirichlet prior of this concentration."""
        self._table.update(counts["links"], prior)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is to be saved."""
        return {"lengths": self.lengths, "positions": self._table.values}

    @classmethod
    def of_arrays(cls, arrays, null_probability):
        """The distortion that was saved."""
        lengths, values = arrays["lengths"], arrays["positions"]
        if lengths.dtype != np.int64 or lengths.ndim != 2 or lengths.shape[1] != 2:
            raise ValueError(
                f"Expected lengths int64 (N, 2). Received: {lengths.dtype} {lengths.shape}"
            )
        cells = sum(words * (1 + length) for length, words in lengths.tolist())
        if np.any(lengths < 1) or values.shape != (cells,):
            raise ValueError(
                f"Expected positions for each pair of lengths. Received: {values.shape} for "
                f"{lengths.shape}"
            )
        return cls(lengths, values)

    @classmethod
    def of_batches(cls, batches, null_probability):
        """The distortion before training, for the lengths of batches."""
        pairs = [np.stack([batch.source_lengths, batch.target_lengths], 1) for batch in batches]
        return cls(np.unique(np.concatenate([np.zeros((0, 2), "int64"), *pairs]), axis=0))

    def probabilities(self, batch) -> np.ndarray:
        """a of each cell of a batch, float (C,)."""
        values = np.ones(len(batch.cells))
        self._multiply(batch, self._entries(batch), values)
        return values

    def _multiply(self, batch, entries, values):
        """Multiplies the values of the cells, (C,), by a."""
        widths = 1 + batch.source_lengths
        _multiply(values, batch.starts, entries, self._table.values, widths)

    def _entries(self, batch):
        """First entry of each pair, int64 (B,); those of its other cells follow. −1: none."""
        pairs = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
        return np.array([self._first.get(pair, -1) for pair in pairs], "int64")


@compiled
def _multiply(values, starts, entries, probabilities, widths):
    """Multiplies the cells of each pair by the probabilities of its lengths, or by uniform ones."""
    for pair in range(len(entries)):
        first, entry = starts[pair], entries[pair]
        for cell in range(first, starts[pair + 1]):
            values[cell] *= probabilities[entry + cell - first] if entry >= 0 else 1 / widths[pair]


@compiled
def _add(values, starts, entries, counts):
    """Adds the values of the cells of each pair to the counts of its lengths."""
    for pair in range(len(entries)):
        first = starts[pair]
        for cell in range(first, starts[pair + 1]):
            counts[entries[pair] + cell - first] += values[cell]
