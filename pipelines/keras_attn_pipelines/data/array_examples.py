"""Examples that are rows of arrays, all of one shape."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keras_attn_pipelines.data.feature import Feature

WEIGHT = "weight"
"""Feature that every example has: float32, 1 for an example, 0 for padding."""


@dataclass(frozen=True)
class ArrayExamples:
    """Rows of arrays as examples, all in one bucket.

    Attributes:
        arrays: dict of arrays (R, …) by the names of features.
    """

    arrays: Mapping[str, np.ndarray]

    @property
    def features(self) -> dict[str, Feature]:
        """See `Examples`; with WEIGHT."""
        declared = {
            name: Feature(array.shape[1:], array.dtype.name) for name, array in self.arrays.items()
        }
        return {**declared, WEIGHT: Feature((), "float32")}

    @property
    def buckets(self) -> np.ndarray:
        """See `Examples`."""
        return np.zeros(len(next(iter(self.arrays.values()))), "int32")

    def take(self, rows: np.ndarray, step: int) -> dict[str, np.ndarray]:
        """See `Examples`; padding rows repeat the first row with weight 0."""
        inside = np.maximum(rows, 0)
        return {**{name: array[inside] for name, array in self.arrays.items()}, WEIGHT: rows >= 0}
