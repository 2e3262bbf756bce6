"""Pairs of texts to batches: as many rows as a budget of tokens allows, a few fixed shapes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_attn.contracts import END_ID, PAD_ID, SOURCE, START_ID, TOKENS
from keras_attn.text.tokenizer import Tokenizer
from pipelines.ahead import ahead
from pipelines.choices import increasing
from pipelines.epoch_plan import EpochPlan
from pipelines.pairs import TextPair

ENCODED = 2**16
"""Texts that are encoded at a time."""


class PairRows(NamedTuple):
    """What batches are filled from: the pairs that fit into a bucket, in order.

    Attributes:
        sources: ragged int32 (R, S), pieces and END_ID.
        targets: ragged int32 (R, T + 1), START_ID, pieces and END_ID.
        buckets: int32 (R,), index of each row's bucket.
        long: (index, S, T) of each pair that fits into no bucket.
    """

    sources: tf.RaggedTensor
    targets: tf.RaggedTensor
    buckets: np.ndarray
    long: list[tuple[int, int, int]]


@dataclass(frozen=True)
class PairBatches:
    """Makes batches of pairs of about equal length.

    Bucket i takes pairs of up to source_lengths[i] and target_lengths[i] pieces, ends included,
    that fit into no bucket before it. Its batches all have one shape: as many rows as make
    `tokens` of the longer side, rounded down to a multiple of `replicas`, and at least one each.
    A bucket's last batch is filled up with rows of PAD_ID, whose weight is 0.

    Attributes:
        tokenizer: `Tokenizer` of the targets.
        source_tokenizer: `Tokenizer` of the sources.
        source_lengths: increasing ints.
        target_lengths: increasing ints, as many.
        tokens: int. Most tokens of one side in a batch, padding included.
        replicas: int. Number that batch sizes can be divided by.
        seed: int. Of the shuffling.
    """

    tokenizer: Tokenizer
    source_tokenizer: Tokenizer
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

    def rows(self, pairs: Sequence[TextPair]) -> PairRows:
        """Encodes pairs and sorts them into buckets.

        Raises:
            ValueError: none of them fits.
        """
        sources = _encoded(self.source_tokenizer, [pair.source for pair in pairs])
        targets = _encoded(self.tokenizer, [pair.target for pair in pairs])
        ends = tf.fill((len(pairs), 1), END_ID)
        sources = tf.concat([sources, ends], axis=1)
        targets = tf.concat([tf.fill((len(pairs), 1), START_ID), targets, ends], axis=1)
        lengths = sources.row_lengths().numpy(), targets.row_lengths().numpy() - 1
        buckets = np.maximum(
            np.searchsorted(self.source_lengths, lengths[0]),
            np.searchsorted(self.target_lengths, lengths[1]),
        )
        fits = buckets < len(self.source_lengths)
        if not fits.any():
            raise ValueError(
                f"Expected a pair of at most {self.source_lengths[-1]} and "
                f"{self.target_lengths[-1]} pieces, the last of lengths. Received: none of "
                f"{len(pairs)}, such as {pairs[0].source!r:.80}"
            )
        left = np.flatnonzero(~fits).tolist()
        long = [(one, int(lengths[0][one]), int(lengths[1][one])) for one in left]
        kept = np.flatnonzero(fits)
        sources, targets = tf.gather(sources, kept), tf.gather(targets, kept)
        return PairRows(sources, targets, buckets[kept].astype("int32"), long)

    def dataset(self, rows: PairRows):
        """A `tf.data.Dataset` of (inputs, targets, weights), each row once.

        inputs: dict with SOURCE int32 (B, S) and TOKENS int32 (B, T); targets: int32 (B, T);
        weights: float32 (B, T).
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
            weights = tf.cast(sequence[:, 1:] != PAD_ID, tf.float32)
            return {SOURCE: source, TOKENS: inputs}, sequence[:, 1:], weights

        return read


def _encoded(tokenizer, texts):
    """Pieces, ragged int32 (texts, pieces)."""
    parts = [tokenizer.encode(tf.constant(own)) for own in _chunks(texts, ENCODED)]
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)


def _chunks(texts, size) -> Iterator[list[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _table(ragged, row, length):
    """int32 (B, length): rows of a ragged tensor, PAD_ID after each and where there is none."""
    found = tf.gather(ragged, tf.maximum(row, 0))
    shape = tf.stack([-1, tf.cast(length, tf.int64)])
    found = found.to_tensor(PAD_ID, shape=shape)
    found = tf.where(row[:, None] >= 0, found, PAD_ID)
    return tf.ensure_shape(found, (None, None))
