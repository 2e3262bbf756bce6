"""Some of the records of a split."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

AT_ONCE = 1024
"""Records read at a time when all are."""


@dataclass(frozen=True)
class Selected(Sequence):
    """Records of a sequence that reads each when it is asked for.

    Attributes:
        records: sequence whose slices are lists.
        places: int64 (R,), where the records are in it.
    """

    records: Any
    places: np.ndarray

    def __len__(self):
        return len(self.places)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return self.records.rows(self.places[place].tolist())
        return self.records[int(self.places[place])]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), AT_ONCE):
            yield from self[start : start + AT_ONCE]

    def rows(self, rows: Sequence[int]) -> list[Any]:
        """The records of some rows."""
        return self.records.rows(self.places[list(rows)].tolist())


def selected(records: Sequence[Any], places: np.ndarray) -> Sequence[Any]:
    """The records at some places: a list of them, or `Selected` of records that are not a list."""
    if hasattr(records, "rows"):
        return Selected(records, np.asarray(places, "int64"))
    return [records[place] for place in places]
