"""Sequences of different lengths in one array, read by row number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import PAD_ID


@dataclass(frozen=True)
class RaggedTable:
    """Concatenated sequences of ids.

    Attributes:
        values: int32 (total, …).
        starts: int64 (R + 1,), start of each sequence, then the end of the last.
    """

    values: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> "RaggedTable":
        """A table of sequences of integers."""
        arrays = [np.asarray(sequence, "int32") for sequence in sequences]
        starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
        values = np.concatenate(arrays) if arrays else np.zeros(0, "int32")
        return cls(values, starts.astype("int64"))

    @classmethod
    def of_ragged(cls, ragged) -> "RaggedTable":
        """A table of the rows of a ragged tensor (R, T, …); a deeper ragged axis is padded."""
        values = ragged.values
        values = values.to_tensor(PAD_ID) if hasattr(values, "to_tensor") else values
        return cls(values.numpy().astype("int32"), ragged.row_splits.numpy().astype("int64"))

    def __len__(self):
        return len(self.starts) - 1

    @property
    def inner(self) -> tuple[int, ...]:
        """Shape of a value."""
        return self.values.shape[1:]

    @property
    def lengths(self) -> np.ndarray:
        """int64 (R,), the length of each sequence."""
        return np.diff(self.starts)

    def kept(self, rows: np.ndarray) -> "RaggedTable":
        """A table of some rows, in the given order."""
        lengths = self.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int64")
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return RaggedTable(self.values[places], starts)

    def take(self, rows: np.ndarray, length: int) -> np.ndarray:
        """The sequences of some rows, padded or truncated to a length.

        Args:
            rows: int (B,); negative for a row of PAD_ID.
            length: T.

        Returns:
            int32 (B, T, …), PAD_ID after the end of each sequence.
        """
        inside = np.maximum(rows, 0)
        first, count = self.starts[inside], self.lengths[inside] * (rows >= 0)
        place = np.arange(length)
        real = place < count[:, None]
        tokens = np.full((len(rows), length, *self.values.shape[1:]), PAD_ID, "int32")
        tokens[real] = self.values[(first[:, None] + place)[real]]
        return tokens
