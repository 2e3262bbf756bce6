"""Records to batches: tf.data pipelines whose batches have a small fixed set of shapes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_attn.contracts import END_ID, FEATURES, IMAGE, PAD_ID, START_ID, TOKENS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.text.tokenizer import Tokenizer
from pipelines.ahead import ahead
from pipelines.augmentation import Augmentation, augmented
from pipelines.choices import increasing
from pipelines.epoch_plan import EpochPlan
from pipelines.picture_rows import picture_rows
from pipelines.records import CaptionedPicture


class Rows(NamedTuple):
    """What batches are filled from.

    Attributes:
        pictures: int32 (R,), index of each row's picture.
        tokens: int32 (R, C, longest T + 1), START_ID first.
        lengths: int32 (R,), bucketed length T.
    """

    pictures: np.ndarray
    tokens: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class CaptionBatches:
    """Makes batches of pictures with all their captions.

    Every batch has `pictures` pictures, `captions` captions a picture and one of the lengths in
    `lengths`: short batches, pictures with few captions and short captions are filled up with
    PAD_ID, whose weight is 0. A picture with more captions than `captions` stands in several rows.

    Attributes:
        tokenizer: `Tokenizer`.
        picture_format: `PictureFormat`.
        pictures: int. B, the global batch size.
        captions: int. C.
        lengths: increasing ints. Bucket lengths T, in pieces with the end token; longer captions
            are cut.
        augmentation: `Augmentation` of training, or None. Cached features are not changed.
        seed: int. Of the shuffling.
    """

    tokenizer: Tokenizer
    picture_format: PictureFormat
    pictures: int
    captions: int
    lengths: tuple[int, ...]
    augmentation: Augmentation | None = None
    seed: int = 0

    def __post_init__(self):
        if not increasing(self.lengths):
            raise ValueError(f"Expected increasing lengths >= 1. Received: lengths={self.lengths}")
        if min(self.pictures, self.captions) < 1:
            raise ValueError(
                "Expected at least one picture and one caption in a batch. "
                f"Received: pictures={self.pictures}, captions={self.captions}"
            )

    def dataset(self, records: Sequence[CaptionedPicture], features=None):
        """A `tf.data.Dataset` of (inputs, targets, weights), each picture's captions once.

        inputs: dict with TOKENS int32 (B, C, T) and IMAGE uint8 (B, height, width, 3), or FEATURES
        (B, S, D) where `features` are given; targets: int32 (B, C, T); weights: float32 (B, C, T).

        Args:
            records: the pictures.
            features: array (len(records), S, D) of any kind NumPy can index, or None.
        """
        rows = self._rows(records)
        plan = EpochPlan(rows.lengths, self.pictures)
        steps = tf.data.Dataset.range(plan.steps).map(plan.batch)
        dataset = self._finished(self._read_rows(steps, rows, records, features), rows, features)
        return dataset.apply(tf.data.experimental.assert_cardinality(plan.steps))

    def training(self, records: Sequence[CaptionedPicture], features=None, start=0):
        """As `dataset`, but without end, shuffled anew in each epoch of `steps` batches, and
        changed at random.

        A batch is a function of the seed and of its step alone: nothing else is needed to go on
        from where a training was stopped.

        Args:
            records: the pictures.
            features: as in `dataset`.
            start: int. First step.
        """
        rows = self._rows(records)
        plan = EpochPlan(rows.lengths, self.pictures, self.seed)
        steps = tf.data.Dataset.range(start, tf.int64.max).map(plan.batch)
        dataset = self._read_rows(steps, rows, records, features)
        if features is None:
            dataset = augmented(dataset, self.augmentation, start)
        return self._finished(dataset, rows, features)

    def _read_rows(self, steps, rows, records, features):
        """Data set of row numbers (B,), FILLING for none, to pictures or features and these."""
        if features is None:
            return self._pictures(steps, rows, records)
        return steps.map(self._features(rows, features), num_parallel_calls=1)

    def _finished(self, dataset, rows, features):
        return ahead(dataset.map(self._finish(rows, IMAGE if features is None else FEATURES)))

    def _features(self, rows, features):
        gather, index = _gatherer(features), tf.constant(rows.pictures)

        def read(row):
            found = gather(tf.gather(index, tf.maximum(row, 0)))
            return tf.where(row[:, None, None] >= 0, found, tf.zeros_like(found)), row

        return read

    def _pictures(self, steps, rows, records):
        paths = [str(records[picture].path) for picture in rows.pictures]
        return picture_rows(steps, paths, self.picture_format, self.pictures)

    def contexts(self, records: Sequence[CaptionedPicture], features=None):
        """A data set of what a stepper starts from: pictures or features, each record once.

        Batches are (B, ...), in the order of the records; the last one is filled up with zeros.
        """
        if features is None:
            paths = tf.constant([str(record.path) for record in records])
            dataset = tf.data.Dataset.from_tensor_slices(paths)
            dataset = dataset.map(self._read, num_parallel_calls=tf.data.AUTOTUNE)
            dataset = dataset.batch(self.pictures)
        else:
            rows = tf.data.Dataset.range(len(records)).batch(self.pictures)
            dataset = rows.map(_gatherer(features), num_parallel_calls=1)
        dataset = dataset.map(lambda one: _fill(one, self.pictures - tf.shape(one)[0]))
        return ahead(dataset)

    def steps(self, records: Sequence[CaptionedPicture]) -> int:
        """Batches in one epoch."""
        return EpochPlan(self._rows(records).lengths, self.pictures).steps

    def longer(self, records: Sequence[CaptionedPicture]) -> int:
        """How many captions are cut to the longest bucket."""
        return sum(len(ids) + 1 > self.lengths[-1] for ids in self._encode(records))

    def _encode(self, records):
        texts = [caption for record in records for caption in record.captions]
        return self.tokenizer.encode(texts).to_list()

    def _rows(self, records):
        """`Rows` of the pictures."""
        encoded = iter(self._encode(records))
        rows, sequences = [], []
        for index, record in enumerate(records):
            own = [next(encoded) for _ in record.captions]
            for start in range(0, len(own), self.captions):
                rows.append(index)
                sequences.append(own[start : start + self.captions])
        longest = self.lengths[-1]
        tokens = np.full((len(rows), self.captions, longest + 1), PAD_ID, "int32")
        lengths = np.zeros(len(rows), "int32")
        for row, captions in enumerate(sequences):
            for column, ids in enumerate(captions):
                sequence = [START_ID, *ids, END_ID][: longest + 1]
                tokens[row, column, : len(sequence)] = sequence
                lengths[row] = max(lengths[row], len(sequence) - 1)
        lengths = np.array(self.lengths, "int32")[np.searchsorted(self.lengths, lengths)]
        return Rows(np.array(rows, "int32"), tokens, lengths)

    def _read(self, path):
        return self.picture_format.decode(tf.io.read_file(path))

    def _finish(self, rows, key):
        tokens, lengths = tf.constant(rows.tokens), tf.constant(rows.lengths)

        def finish(pictures, row):
            length = tf.reduce_max(tf.gather(lengths, row[:1]))
            sequences = tf.gather(tokens, tf.maximum(row, 0))[:, :, : length + 1]
            sequences = tf.where(row[:, None, None] >= 0, sequences, PAD_ID)
            targets = sequences[:, :, 1:]
            inputs = tf.where(sequences[:, :, :-1] == END_ID, PAD_ID, sequences[:, :, :-1])
            weights = tf.cast(targets != PAD_ID, tf.float32)
            for tensor in (inputs, targets, weights):
                tensor.set_shape((self.pictures, self.captions, None))
            pictures = tf.ensure_shape(pictures, (self.pictures, *pictures.shape[1:]))
            return {key: pictures, TOKENS: inputs}, targets, weights

        return finish


def _gatherer(features):
    """A map from row numbers to rows of an array on disk."""
    shape, dtype = features.shape[1:], features.dtype

    def gather(rows):
        gathered = tf.numpy_function(lambda index: features[index], [rows], dtype, stateful=False)
        return tf.ensure_shape(gathered, (None, *shape))

    return gather


def _fill(tensor, missing):
    """Adds `missing` rows of zeros (PAD_ID)."""
    return tf.pad(tensor, [[0, missing], *[[0, 0]] * (len(tensor.shape) - 1)])
