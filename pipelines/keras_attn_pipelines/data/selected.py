"""Records that are read when they are asked for, and some of the records of a split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

AT_ONCE = 1024
"""Records read at a time when all are."""


class RowSequence(Sequence):
    """Abstract: a sequence of records that reads rows when they are asked for.

    A subclass has a length, and `rows`. Its slices are lists.
    """

    def rows(self, rows: Sequence[int]) -> list[Any]:
        """The records of some rows."""
        raise NotImplementedError

    def __getitem__(self, place):
        chosen = range(len(self))[place]
        return self.rows(chosen) if isinstance(place, slice) else self.rows([chosen])[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), AT_ONCE):
            yield from self[start : start + AT_ONCE]


@dataclass(frozen=True)
class Selected(RowSequence):
    """Some of the records of a `RowSequence`.

    Attributes:
        records: the sequence.
        places: int64 (R,), where the records are in it.
    """

    records: RowSequence
    places: np.ndarray

    def __len__(self):
        return len(self.places)

    def rows(self, rows: Sequence[int]) -> list[Any]:
        """See `RowSequence`."""
        return self.records.rows(self.places[list(rows)].tolist())


def selected(records: Sequence[Any], places: np.ndarray) -> Sequence[Any]:
    """The records at some places: a list of them, or `Selected` of a `RowSequence`."""
    if isinstance(records, RowSequence):
        return Selected(records, np.asarray(places, "int64"))
    return [records[place] for place in places]
