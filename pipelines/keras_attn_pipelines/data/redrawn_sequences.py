"""Sequence examples that are drawn anew for every batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.sequence_examples import SequenceExamples

ATTEMPTS = 4
"""Draws of a sequence that turns out too long for its batch; then it is taken as it is encoded."""

Draw = Callable[[Sequence[int], np.random.SeedSequence], Sequence[Sequence[int]]]
"""Function from row numbers and a seed to ids, without END_ID, such as `BPEDropout`."""


@dataclass(frozen=True)
class RedrawnSequences:
    """Sequence examples, some of whose tables are drawn anew for every batch.

    What is drawn depends on the seed and the step alone, as the batches do.

    Attributes:
        examples: `SequenceExamples`, with room for longer sequences in the buckets.
        draws: dict of a `Draw` for each table that is drawn.
        seed: int.
    """

    examples: SequenceExamples
    draws: Mapping[str, Draw]
    seed: int

    @property
    def features(self) -> dict[str, Feature]:
        """See `Examples`."""
        return self.examples.features

    @property
    def buckets(self) -> np.ndarray:
        """See `Examples`."""
        return self.examples.buckets

    def take(self, rows: np.ndarray, step: int) -> dict[str, np.ndarray]:
        """See `Examples`."""
        tables = self.examples.take(rows, step)
        for place, (name, draw) in enumerate(self.draws.items()):
            self._redraw(tables[name], rows, draw, (self.seed, int(step), place))
        return tables

    def _redraw(self, tokens, rows, draw, entropy):
        """Overwrites tokens int32 (B, T) by a draw of each row that fits."""
        left = np.flatnonzero(rows >= 0)
        for attempt in range(ATTEMPTS):
            seed = np.random.SeedSequence((*entropy, attempt))
            sequences = draw(rows[left].tolist(), seed)
            fits = np.array([len(ids) < tokens.shape[1] for ids in sequences])
            for place, ids, fit in zip(left, sequences, fits):
                if fit:
                    tokens[place] = PAD_ID
                    tokens[place, : len(ids) + 1] = [*ids, END_ID]
            left = left[~fits]
            if not len(left):
                return
