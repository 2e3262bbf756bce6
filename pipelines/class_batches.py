"""Labeled pictures to batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat
from keras_attn.text.label_table import LabelTable
from pipelines.ahead import ahead
from pipelines.augmentation import Augmentation, augmented
from pipelines.epoch_plan import EpochPlan
from pipelines.picture_folder import LabeledPicture
from pipelines.picture_rows import picture_rows


@dataclass(frozen=True)
class ClassBatches:
    """Makes batches of pictures with their classes.

    Every batch has `size` pictures; the last one of an epoch is filled up with zeros, whose weight
    is 0.

    Attributes:
        labels: `LabelTable` that knows every label.
        picture_format: `PictureFormat`.
        size: int. B, the global batch size.
        augmentation: `Augmentation` of training, or None.
        seed: int. Of the shuffling.
    """

    labels: LabelTable
    picture_format: PictureFormat
    size: int
    augmentation: Augmentation | None
    seed: int = 0

    def dataset(self, records: Sequence[LabeledPicture]):
        """A `tf.data.Dataset` of (pictures, classes, weights), each picture once.

        pictures: uint8 (B, height, width, 3); classes: int32 (B,); weights: float32 (B,).
        """
        plan = self._plan(records)
        dataset = self._read(tf.data.Dataset.range(plan.steps).map(plan.batch), records)
        return ahead(dataset).apply(tf.data.experimental.assert_cardinality(plan.steps))

    def training(self, records: Sequence[LabeledPicture], start=0):
        """As `dataset`, but without end, shuffled anew in each epoch and changed at random.

        A batch is a function of the seed and of its step alone: nothing else is needed to go on
        from where a training was stopped.

        Args:
            records: the pictures.
            start: int. First step.
        """
        steps = tf.data.Dataset.range(start, tf.int64.max)
        batches = self._read(steps.map(self._plan(records, self.seed).batch), records)
        return ahead(augmented(batches, self.augmentation, start))

    def steps(self, records: Sequence[LabeledPicture]) -> int:
        """Batches in one epoch."""
        return self._plan(records).steps

    def _plan(self, records, seed=None):
        return EpochPlan(np.zeros(len(records), "int32"), self.size, seed)

    def _read(self, steps, records):
        """Data set of row numbers (B,), FILLING for none, to batches."""
        ids = tf.constant([self.labels.id_of(one.label) for one in records], tf.int32)
        paths = [str(one.path) for one in records]

        def finish(pictures, row):
            pictures = tf.ensure_shape(pictures, (self.size, *pictures.shape[1:]))
            classes = tf.gather(ids, tf.maximum(row, 0))
            return pictures, classes, tf.cast(row >= 0, tf.float32)

        return picture_rows(steps, paths, self.picture_format, self.size).map(finish)
