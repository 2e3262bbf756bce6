"""Records to batches: tf.data pipelines whose batches have a small fixed set of shapes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from keras_attn.contracts import END_ID, FEATURES, IMAGE, PAD_ID, START_ID, TOKENS
from keras_attn.serving.pictures import PictureFormat
from keras_attn.text.tokenizer import Tokenizer
from pipelines.records import CaptionedPicture


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
        seed: int. Of the shuffling.
    """

    tokenizer: Tokenizer
    picture_format: PictureFormat
    pictures: int
    captions: int
    lengths: tuple[int, ...]
    seed: int = 0

    def __post_init__(self):
        lengths = list(self.lengths)
        if lengths != sorted(set(lengths)) or not lengths or lengths[0] < 1:
            raise ValueError(f"Expected increasing lengths >= 1. Received: lengths={lengths}")
        if min(self.pictures, self.captions) < 1:
            raise ValueError(
                "Expected at least one picture and one caption in a batch. "
                f"Received: pictures={self.pictures}, captions={self.captions}"
            )

    def dataset(self, records: Sequence[CaptionedPicture], features=None, shuffle=False):
        """A `tf.data.Dataset` of (inputs, targets, weights).

        inputs: dict with TOKENS int32 (B, C, T) and IMAGE uint8 (B, height, width, 3), or FEATURES
        (B, S, D) where `features` are given; targets: int32 (B, C, T); weights: float32 (B, C, T).

        Args:
            records: the pictures.
            features: array (len(records), S, D) of any kind NumPy can index, or None.
            shuffle: bool. Anew in each epoch, over all records.
        """
        rows, tokens, lengths = self._rows(records)
        dataset = tf.data.Dataset.from_tensor_slices((rows, tokens, lengths))
        if shuffle:
            dataset = dataset.shuffle(len(rows), seed=self.seed, reshuffle_each_iteration=True)
        if features is None:
            dataset = dataset.map(self._reader(records), num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset.bucket_by_sequence_length(
            lambda row, tokens, length: length,
            bucket_boundaries=[length + 1 for length in self.lengths[:-1]],
            bucket_batch_sizes=[self.pictures] * len(self.lengths),
            no_padding=True,
        )
        if features is not None:
            gather = _gatherer(features)
            dataset = dataset.map(
                lambda row, tokens, length: (gather(row), tokens, length), num_parallel_calls=1
            )
        dataset = dataset.map(self._finish(IMAGE if features is None else FEATURES))
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(self._count(lengths)))
        return dataset.prefetch(tf.data.AUTOTUNE)

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
        return dataset.prefetch(tf.data.AUTOTUNE)

    def steps(self, records: Sequence[CaptionedPicture]) -> int:
        """Batches in one epoch."""
        return self._count(self._rows(records)[2])

    def _count(self, lengths):
        buckets = np.bincount(np.searchsorted(self.lengths, lengths))
        return int(np.sum(-(-buckets // self.pictures)))

    def longer(self, records: Sequence[CaptionedPicture]) -> int:
        """How many captions are cut to the longest bucket."""
        return sum(len(ids) + 1 > self.lengths[-1] for ids in self._encode(records))

    def _encode(self, records):
        texts = [caption for record in records for caption in record.captions]
        return self.tokenizer.encode(texts).to_list()

    def _rows(self, records):
        """Index of the picture, sequences (rows, C, T + 1) and bucketed length T of each row."""
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
        return np.array(rows, "int32"), tokens, lengths

    def _reader(self, records):
        paths = tf.constant([str(record.path) for record in records])
        return lambda row, tokens, length: (self._read(paths[row]), tokens, length)

    def _read(self, path):
        return self.picture_format.decode(tf.io.read_file(path))

    def _finish(self, key):
        def finish(pictures, tokens, lengths):
            sequences = tokens[:, :, : lengths[0] + 1]
            missing = self.pictures - tf.shape(tokens)[0]
            sequences = _fill(sequences, missing)
            targets = sequences[:, :, 1:]
            inputs = tf.where(sequences[:, :, :-1] == END_ID, PAD_ID, sequences[:, :, :-1])
            weights = tf.cast(targets != PAD_ID, tf.float32)
            for tensor in (inputs, targets, weights):
                tensor.set_shape((self.pictures, self.captions, None))
            shape = (self.pictures, *pictures.shape[1:])
            pictures = tf.ensure_shape(_fill(pictures, missing), shape)
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
