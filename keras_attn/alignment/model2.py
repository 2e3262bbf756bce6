"""IBM Model 2: the source position depends on the target position and both lengths."""

import numpy as np

from keras_attn.alignment.conditional_table import ConditionalTable
from keras_attn.alignment.expectation import Expectation, independent_expectation


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
        self._starts = np.cumsum(sizes) - sizes
        pairs = map(tuple, self.lengths.tolist())
        self._numbers = {pair: number for number, pair in enumerate(pairs)}

    def empty_counts(self):
        """Expected links of each entry, all 0."""
        return {"links": np.zeros(len(self._table) + 1)}

    def expect(self, batch, lexical, counts=None) -> Expectation:
        """Posteriors of a batch, whose links are added to the counts.

        Args:
            batch: `Batch`.
            lexical: float (B, T, 1 + S). t(f_j | e_i), 0 at padding.
            counts: from `empty_counts`, or None.
        """
        shapes, which = _shapes(batch)
        entries = self._entries(shapes, lexical.shape[1:])
        joint = lexical * self._probabilities(shapes, entries)[which]
        expectation = independent_expectation(joint, batch.target_lengths)
        if counts is not None:
            order = np.argsort(which, kind="stable")
            starts = np.searchsorted(which[order], np.arange(len(shapes)))
            counts["links"][entries] += np.add.reduceat(expectation.posteriors[order], starts)
        return expectation

    def best(self, batch, lexical) -> np.ndarray:
        """The most probable alignment, int (B, T): 0 is NULL, i + 1 source word i."""
        return np.argmax(lexical * self.probabilities(batch), axis=2)

    def update(self, counts, prior=0.0):
        """Sets a from expected links, with a Dirichlet prior of this concentration."""
        self._table.update(counts["links"][:-1], prior)

    def arrays(self) -> dict[str, np.ndarray]:
        """What is to be saved."""
        return {"lengths": self.lengths, "positions": self._table.values[:-1]}

    @classmethod
    def of_arrays(cls, arrays, null_probability):
        """The distortion that was saved."""
        lengths, values = arrays["lengths"], arrays["positions"]
        sizes = lengths[:, 1] * (1 + lengths[:, 0]) if lengths.ndim == 2 else [-1]
        if lengths.shape[1:] != (2,) or values.shape != (np.sum(sizes),):
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
        """a of each cell of a batch, float (B, T, 1 + S)."""
        shapes, which = _shapes(batch)
        return self._probabilities(shapes, self._entries(shapes, batch.cells.shape[1:]))[which]

    def _probabilities(self, shapes, entries):
        """a of each entry, float (N, T, 1 + S)."""
        return np.where(entries < 0, 1 / (1 + shapes[:, :1, None]), self._table.values[entries])

    def _entries(self, shapes, cells):
        """Entry of each cell of pairs of lengths (N, 2), int (N, T, 1 + S).

        The last for padding, −1 for unknown lengths; otherwise distinct.
        """
        numbers = np.array([self._numbers.get(pair, -1) for pair in map(tuple, shapes.tolist())])
        numbers, starts = numbers[:, None, None], np.append(self._starts, 0)
        widths, words = 1 + shapes[:, :1, None], shapes[:, 1:, None]
        target, source = np.ogrid[: cells[0], : cells[1]]
        entries = np.where(numbers < 0, -1, starts[numbers] + target * widths + source)
        return np.where((source >= widths) | (target >= words), len(self._table), entries)


def _shapes(batch):
    """Distinct pairs of lengths (l, m) of a batch, int (N, 2), and which one each row has, (B,)."""
    lengths = np.stack([batch.source_lengths, batch.target_lengths], axis=1)
    shapes, which = np.unique(lengths, axis=0, return_inverse=True)
    return shapes, which.ravel()
