"""Examples of several sequences each, in buckets of similar length."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.training.teacher_forcing import append_end
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.stored_table import StoredTable, TableWriter
from keras_attn_pipelines.data.tables import RaggedTable

Table = RaggedTable | StoredTable

ENCODED = 2**16
"""Texts encoded at a time."""
STORED = 2**14
"""Records encoded at a time where there are more than ENCODED of them."""


@dataclass(frozen=True)
class SequenceExamples:
    """Named sequences, one of each per example.

    An example goes into the first bucket i in which every sequence has at most `lengths[name][i]`
    ids.

    Attributes:
        tables: dict of `RaggedTable`s or `StoredTable`s, one row per example.
        lengths: dict of increasing lengths, one per bucket, for each table.
        buckets: int32 (R,), the bucket of each example.
    """

    tables: Mapping[str, Table]
    lengths: Mapping[str, Sequence[int]]
    buckets: np.ndarray

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Table],
        lengths: Mapping[str, Sequence[int]],
        room: Mapping[str, float] | None = None,
    ):
        """Assigns examples to buckets; those that fit into none are left out.

        Args:
            tables: see the class.
            lengths: see the class.
            room: dict of factors, at least 1, by the names of tables whose sequences are to find
                room to grow by them; in the last bucket there may be less.

        Returns:
            examples: `SequenceExamples`.
            kept: int64 (R,), indices of the given examples.
        """
        buckets = np.maximum.reduce(
            [np.searchsorted(lengths[name], table.lengths) for name, table in tables.items()]
        )
        last = len(next(iter(lengths.values()))) - 1
        kept = np.flatnonzero(buckets <= last)
        for name, factor in (room or {}).items():
            wanted = np.searchsorted(lengths[name], tables[name].lengths * factor)
            buckets = np.maximum(buckets, np.minimum(wanted, last))
        tables = {name: table.kept(kept) for name, table in tables.items()}
        return cls(tables, lengths, buckets[kept].astype("int32")), kept

    @property
    def features(self) -> dict[str, Feature]:
        """See `Examples`."""
        return {name: Feature((None, *table.inner)) for name, table in self.tables.items()}

    def take(self, rows: np.ndarray, step: int) -> dict[str, np.ndarray]:
        """See `Examples`."""
        bucket = self.buckets[rows[0]]
        return {
            name: table.take(rows, self.lengths[name][bucket])
            for name, table in self.tables.items()
        }

    def sizes(self, batch_size: int, batch_tokens: int, replicas: int = 1) -> dict[int, int]:
        """Rows per batch of each bucket, multiples of `replicas`, at least one per replica.

        Args:
            batch_size: rows, if `batch_tokens` is 0.
            batch_tokens: tokens of the longest sequence in a batch, padding included.
            replicas: devices that share a batch.
        """
        longest = np.max(list(self.lengths.values()), axis=0).tolist()
        wanted = [batch_tokens // length if batch_tokens else batch_size for length in longest]
        return {bucket: max(1, rows // replicas) * replicas for bucket, rows in enumerate(wanted)}

    def padding(self, sizes: Mapping[int, int], names: Sequence[str]) -> float:
        """Share of padding in the batches of an epoch, over some of the tables."""
        real = sum(int(self.tables[name].lengths.sum()) for name in names)
        counts = np.bincount(self.buckets, minlength=len(sizes)).tolist()
        cells = sum(
            -(-count // sizes[bucket]) * sizes[bucket] * self.lengths[name][bucket]
            for bucket, count in enumerate(counts)
            for name in names
        )
        return 1 - real / cells


def encoded_tables(encode: Callable, records: Sequence[Any]) -> dict[str, Table]:
    """The tables of some records; in temporary files where there are more than ENCODED.

    Args:
        encode: function from records to a dict of `RaggedTable`s, each record on its own.
        records: sequence whose slices are lists.
    """
    if len(records) <= ENCODED:
        return dict(encode(records))
    writers: dict[str, TableWriter] = {}
    for start in range(0, len(records), STORED):
        for name, table in encode(records[start : start + STORED]).items():
            writers.setdefault(name, TableWriter()).append(table)
    return {name: writer.table() for name, writer in writers.items()}


def in_parts(encode: Callable, texts: Sequence[str]) -> tf.RaggedTensor:
    """Applies `encode` to texts, ENCODED at a time."""
    starts = range(0, max(len(texts), 1), ENCODED)
    parts = [encode(tf.constant(texts[start : start + ENCODED], tf.string)) for start in starts]
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)


def ended(ragged: tf.RaggedTensor) -> RaggedTable:
    """A table of ids, int32 (R, T), with END_ID after each row."""
    return RaggedTable.of_ragged(append_end(ragged))
