"""Pairs of texts to batches: as many rows as a budget of tokens allows, a few fixed shapes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_attn.contracts import END_ID, LOGITS, PAD_ID, SOURCE, START_ID, TAG_LOGITS, TOKENS
from pipelines.ahead import ahead
from pipelines.choices import increasing
from pipelines.epoch_plan import EpochPlan
from pipelines.pair_encoding import PairEncoding, ends, length_text


class PairRows(NamedTuple):
    """What batches are filled from: the pairs that fit into a bucket, in order.

    Attributes:
        sources: ragged int32 (R, S), pieces and END_ID; or (R, S, P), of each word its pieces.
        targets: ragged int32 (R, T + 1), START_ID, pieces and END_ID.
        buckets: int32 (R,), index of each row's bucket.
        long: (index, S, T) of each pair that fits into no bucket.
        tags: ragged int32 (R, S − 1), of the words of the sources; None without tags.
    """

    sources: tf.RaggedTensor
    targets: tf.RaggedTensor
    buckets: np.ndarray
    long: list[tuple[int, int, int]]
    tags: tf.RaggedTensor | None = None


@dataclass(frozen=True)
class PairBatches:
    """Makes batches of pairs of about equal length.

    Bucket i takes pairs of up to source_lengths[i] and target_lengths[i] tokens, ends included,
    that fit into no bucket before it. Its batches all have one shape: as many rows as make
    `tokens` of the longer side, rounded down to a multiple of `replicas`, and at least one each.
    A bucket's last batch is filled up with rows of PAD_ID, whose weight is 0.

    Attributes:
        encoding: `PairEncoding`.
        source_lengths: increasing ints.
        target_lengths: increasing ints, as many.
        tokens: int. Most tokens of one side in a batch, padding included.
        replicas: int. Number that batch sizes can be divided by.
        seed: int. Of the shuffling.
    """

    encoding: PairEncoding
    source_lengths: tuple[int, ...]
    target_lengths: tuple[int, ...]
    tokens: int
    replicas: int = 1
    seed: int = 0

    def __post_init__(self):
        both = (self.source_lengths, self.target_lengths)
        if not all(map(increasing, both)) or len({len(one) for one in both}) > 1:
            raise ValueError(
                "Expected increasing source_lengths and target_lengths >= 1, as many of both. "
                f"Received: source_lengths={both[0]}, target_lengths={both[1]}"
            )
        if min(self.tokens, self.replicas) < 1:
            raise ValueError(
                "Expected tokens >= 1 and replicas >= 1. "
                f"Received: tokens={self.tokens}, replicas={self.replicas}"
            )

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """(B, S, T) of each bucket."""
        buckets = zip(self.source_lengths, self.target_lengths)
        return [(self._size(max(own)), *own) for own in buckets]

    def rows(self, pairs: Sequence) -> PairRows:
        """Encodes pairs and sorts them into buckets.

        Raises:
            ValueError: none of them fits.
        """
        sources, targets, tags = self.encoding.encode(pairs)
        starts = tf.fill((len(pairs), 1), START_ID)
        targets = tf.concat([starts, targets, ends(len(pairs))], axis=1)
        lengths = sources.row_lengths().numpy(), targets.row_lengths().numpy() - 1
        buckets = np.maximum(
            np.searchsorted(self.source_lengths, lengths[0]),
            np.searchsorted(self.target_lengths, lengths[1]),
        )
        fits = buckets < len(self.source_lengths)
        if not fits.any():
            last = self.source_lengths[-1], self.target_lengths[-1]
            raise ValueError(
                f"Expected a pair of at most {length_text(self.encoding, *last)}, the last of "
                f"lengths. Received: none of {len(pairs)}, such as {pairs[0].source!r:.80}"
            )
        left = np.flatnonzero(~fits).tolist()
        long = [(one, int(lengths[0][one]), int(lengths[1][one])) for one in left]
        kept = np.flatnonzero(fits)
        sources, targets = tf.gather(sources, kept), tf.gather(targets, kept)
        tags = None if tags is None else tf.gather(tags, kept)
        return PairRows(sources, targets, buckets[kept].astype("int32"), long, tags)

    def dataset(self, rows: PairRows):
        """A `tf.data.Dataset` of (inputs, targets, weights), each row once.

        inputs: dict with SOURCE int32 (B, S), or (B, S, P), and TOKENS int32 (B, T). targets: int32
        (B, T), and weights: float32 (B, T). Where rows have tags, targets and weights are dicts of
        these as LOGITS and of those of the tags as TAG_LOGITS (B, S).
        """
        plan = self._plan(rows, None)
        steps = tf.data.Dataset.range(plan.steps).map(plan.batch)
        dataset = ahead(steps.map(self._reader(rows)))
        return dataset.apply(tf.data.experimental.assert_cardinality(plan.steps))

    def training(self, rows: PairRows, start=0):
        """As `dataset`, but without end, and shuffled anew in each epoch of `steps` batches.

        A batch is a function of the seed and of its step alone: nothing else is needed to go on
        from where a training was stopped.

        Args:
            rows: `PairRows`.
            start: int. First step.
        """
        plan = self._plan(rows, self.seed)
        steps = tf.data.Dataset.range(start, tf.int64.max).map(plan.batch)
        return ahead(steps.map(self._reader(rows)))

    def steps(self, rows: PairRows) -> int:
        """Batches in one epoch."""
        return self._plan(rows, None).steps

    def padding(self, rows: PairRows) -> float:
        """Share of the cells of an epoch's batches, of both sides, that hold padding."""
        real = sum(int(one.row_lengths().numpy().sum()) for one in (rows.sources, rows.targets))
        real -= len(rows.buckets)  # The start, which is no target.
        counts = np.bincount(rows.buckets, minlength=len(self.shapes))
        cells = sum(
            -(-count // size) * size * (source + target)
            for count, (size, source, target) in zip(counts.tolist(), self.shapes)
        )
        return 1 - real / cells

    def _size(self, length):
        return max(1, self.tokens // length // self.replicas) * self.replicas

    def _plan(self, rows, seed):
        sizes = {bucket: shape[0] for bucket, shape in enumerate(self.shapes)}
        return EpochPlan(rows.buckets, sizes, seed)

    def _reader(self, rows):
        """A map from row numbers (B,), FILLING for none, to a batch."""
        sources, targets, buckets = rows.sources, rows.targets, tf.constant(rows.buckets)
        lengths = tf.constant(self.source_lengths), tf.constant(self.target_lengths)

        def read(row):
            bucket = tf.gather(buckets, row[0])
            source = _table(sources, row, tf.gather(lengths[0], bucket))
            sequence = _table(targets, row, tf.gather(lengths[1], bucket) + 1)
            inputs = tf.where(sequence[:, :-1] == END_ID, PAD_ID, sequence[:, :-1])
            batch, wanted = {SOURCE: source, TOKENS: inputs}, sequence[:, 1:]
            if rows.tags is None:
                return batch, wanted, _real(wanted)
            tags = _table(rows.tags, row, tf.gather(lengths[0], bucket))
            wanted = {LOGITS: wanted, TAG_LOGITS: tags}
            return batch, wanted, {key: _real(one) for key, one in wanted.items()}

        return read


def _real(targets):
    """Weights: 0 for PAD_ID, 1 for all others."""
    return tf.cast(targets != PAD_ID, tf.float32)


def _table(ragged, row, length):
    """int32 (B, length, …): rows of a ragged tensor, PAD_ID after each and where there is none."""
    found, inner = tf.gather(ragged, tf.maximum(row, 0)), list(ragged.shape[2:])
    shape = tf.stack(
        [-1, tf.cast(length, tf.int64), *(tf.constant(one, tf.int64) for one in inner)]
    )
    found = found.to_tensor(PAD_ID, shape=shape)
    real = tf.reshape(row >= 0, (-1, 1, *(1 for _ in inner)))
    return tf.ensure_shape(tf.where(real, found, PAD_ID), (None, None, *inner))
