"""The records of a data folder, and the data for `fit`."""

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_attn_pipelines.data.skipped import Skipped

if TYPE_CHECKING:
    import tensorflow as tf


SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Records:
    """The records of a data folder, by split.

    Attributes:
        splits: dict of sequences of records, at least "train" and "dev".
        skipped: unusable records.
        lines: lines of the report on what was read.
        files: the file of each split, if records know their line.
        naming_faults: makes a context in which an error in reading a record's file names that file.
        tolerance: share of unusable records above which training does not start.
    """

    splits: Mapping[str, Sequence[Any]]
    skipped: Sequence[Skipped] = ()
    lines: Sequence[str] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    naming_faults: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext
    tolerance: float = 0.01


def read_line(form: str, splits: Mapping[str, Sequence[Any]], *paths: Path) -> str:
    """The line of a report that says what was read.

    Args:
        form: name of the layout.
        splits: records by split.
        paths: of files.

    Example:
        >>> read_line("CSV", {"train": range(6000), "dev": range(9), "test": ()}, Path("a.csv"))
        'read: CSV, 6,000 train, 9 dev (a.csv)'
    """
    names = sorted(splits, key=lambda name: (*SPLITS, name).index(name))
    counts = [f"{len(splits[name]):,} {name}" for name in names if len(splits[name])]
    return f"read: {', '.join([form, *counts])} ({', '.join(map(str, paths))})"


def again_in_train(
    splits: Mapping[str, Sequence[Any]], unit: str, content: Callable[[Any], Hashable]
) -> list[str]:
    """A line of the report for each split that has records of train again.

    Args:
        splits: records by split.
        unit: plural noun for the records.
        content: function from a record to what makes two of them equal.

    Example:
        >>> again_in_train({"train": "abc", "dev": "cd", "test": "e"}, "pairs", str)
        ['1 of the pairs of dev is in train, too']
    """
    train = {content(record) for record in splits.get("train", ())}
    counts = {
        name: sum(content(record) in train for record in records)
        for name, records in splits.items()
        if name != "train"
    }
    return [
        f"{n} of the {unit} of {name} {'is' if n == 1 else 'are'} in train, too"
        for name, n in counts.items()
        if n
    ]


@dataclass(frozen=True)
class TrainingData:
    """Everything that `fit` needs from a data folder.

    Attributes:
        splits: dict of the usable records of each split, at least "train" and "dev".
        training: function from a step to the training data set from that step on, infinite and
            reshuffled in each epoch; a batch depends on the seed and its step alone.
        dev: validation data set.
        steps: batches in one epoch of `training`: the `steps_per_epoch` of `fit`.
        skipped: records that cannot be used for training, besides those that could not be read.
        lines: lines of the report on the encoded records.
        details: lines on batches and the like, for a file in the run directory.
        unfreeze_step: step from which the whole model trains; until then these data replace the
            output of its frozen part. 0: nothing is frozen.
        unfrozen: function that makes the data for training the whole model; None if these do.
        extra: values that the task needs later, such as computed features.
    """

    splits: Mapping[str, Sequence[Any]]
    training: "Callable[[int], tf.data.Dataset]"
    dev: "tf.data.Dataset"
    steps: int
    skipped: Sequence[Skipped] = ()
    lines: Sequence[str] = ()
    details: Sequence[str] = ()
    unfreeze_step: int = 0
    unfrozen: "Callable[[], TrainingData] | None" = None
    extra: Any = field(default=None, compare=False)
