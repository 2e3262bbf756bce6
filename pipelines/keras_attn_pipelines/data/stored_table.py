"""Sequences of different lengths in a temporary file, read by row number."""

import os
import tempfile
from dataclasses import dataclass, replace

import numpy as np

from keras_attn_pipelines.data.tables import RaggedTable


class ValueFile:
    """A temporary file of int32 values that goes with the last table that reads it."""

    def __init__(self):
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def __del__(self):
        self._file.close()

    def append(self, values: np.ndarray) -> None:
        """Writes values at the end."""
        self._file.write(np.ascontiguousarray(values, "<i4").data)
        self._file.flush()

    def read(self, start: int, count: int) -> np.ndarray:
        """Some values, from the place `start` on."""
        return np.frombuffer(os.pread(self._file.fileno(), 4 * count, 4 * start), "<i4")


@dataclass(frozen=True)
class StoredTable:
    """Sequences like those of a `RaggedTable`, of which only starts and lengths are in memory.

    Attributes:
        file: `ValueFile`.
        starts: int64 (R,), where each sequence begins in the file, in values of `inner`.
        lengths: int64 (R,), the length of each sequence.
        inner: shape of a value.
    """

    file: ValueFile
    starts: np.ndarray
    lengths: np.ndarray
    inner: tuple[int, ...]

    def __len__(self):
        return len(self.starts)

    def kept(self, rows: np.ndarray) -> "StoredTable":
        """A table of some rows, in the given order."""
        return replace(self, starts=self.starts[rows], lengths=self.lengths[rows])

    def take(self, rows: np.ndarray, length: int) -> np.ndarray:
        """See `RaggedTable`."""
        sequences = [self._sequence(row) for row in np.maximum(rows, 0).tolist()]
        places = np.where(rows >= 0, np.arange(len(rows)), -1)
        return RaggedTable.of(sequences).take(places, length)

    def _sequence(self, row):
        size = int(np.prod(self.inner, dtype=int))
        values = self.file.read(size * int(self.starts[row]), size * int(self.lengths[row]))
        return values.reshape(-1, *self.inner)


class TableWriter:
    """Writes a `StoredTable` part by part."""

    def __init__(self):
        self._file = ValueFile()
        self._starts: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._end, self._inner = 0, ()

    def append(self, table: RaggedTable) -> None:
        """Appends the rows of a table."""
        self._file.append(table.values)
        self._starts.append(self._end + table.starts[:-1])
        self._lengths.append(table.lengths)
        self._end, self._inner = self._end + len(table.values), table.inner

    def table(self) -> StoredTable:
        """All rows."""
        starts, lengths = np.concatenate(self._starts), np.concatenate(self._lengths)
        return StoredTable(self._file, starts, lengths, self._inner)
