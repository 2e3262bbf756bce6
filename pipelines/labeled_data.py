"""What `fit` wants of labeled things, whatever they are."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from keras_attn.text.label_table import LabelTable
from pipelines.labeling import in_words
from pipelines.recipe import LABEL_TABLE, TrainingData


@dataclass(frozen=True)
class LabeledData(TrainingData):
    """Abstract: everything that `fit` wants of labeled things.

    Attributes:
        labels: `LabelTable` of the training records, sorted.
        batches: what makes batches of records: `training(records, start)`.
        splits: dict of the records of each split.
        skipped: list of `Skipped`.
        dev: validation data set.
        steps: batches in one epoch.
    """

    labels: LabelTable
    batches: Any
    splits: Mapping[str, Sized]
    skipped: Sequence
    dev: tf.data.Dataset
    steps: int

    @property
    def tokenizers(self) -> dict[str, LabelTable]:
        """See `TrainingData`."""
        return {LABEL_TABLE: self.labels}

    def training(self, start):
        """See `TrainingData`."""
        return self.batches.training(self.splits["train"], start)

    def report(self):
        """See `TrainingData`."""
        return [f"labels: {in_words(self.labels.labels)}"]

    def frozen(self):
        """Nothing ever is."""
        return False

    def thawed(self):
        """These data."""
        return self
