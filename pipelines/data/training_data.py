"""What is read, and what `fit` is given: plain values."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_attn_pipelines.data.skipped import Skipped

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True)
class Records:
    """The records of a data folder, by split.

    Attributes:
        splits: dict of sequences of records, "train" and "dev" at least.
        skipped: unusable records.
        lines: lines that say what was read.
        files: the file that each split is from, where records know their line in it.
        naming_faults: makes a context in which an error in reading a record's file names the file.
        tolerance: share of unusable records above which training does not start.
    """

    splits: Mapping[str, Sequence[Any]]
    skipped: Sequence[Skipped] = ()
    lines: Sequence[str] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    naming_faults: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext
    tolerance: float = 0.01


@dataclass(frozen=True)
class TrainingData:
    """Everything that `fit` wants of a data folder.

    Attributes:
        splits: dict of the usable records of each split, "train" and "dev" at least.
        training: function from a step to the training data set from that step on, shuffled anew in
            each epoch and without end; a batch is a function of the seed and of its step alone.
        dev: validation data set.
        steps: batches in one epoch of `training`: the `steps_per_epoch` of `fit`.
        skipped: records that cannot be trained on, beside those that could not be read.
        lines: lines that say what was made of the records.
        unfreeze_step: step from which all of the model trains; until then these data stand in for
            its frozen part. 0: nothing is frozen.
        unfrozen: function that makes the data for a model all of which trains; None where these
            are.
        extra: what the task itself wants to find again, such as features that were computed.
    """

    splits: Mapping[str, Sequence[Any]]
    training: "Callable[[int], tf.data.Dataset]"
    dev: "tf.data.Dataset"
    steps: int
    skipped: Sequence[Skipped] = ()
    lines: Sequence[str] = ()
    unfreeze_step: int = 0
    unfrozen: "Callable[[], TrainingData] | None" = None
    extra: Any = field(default=None, compare=False)
