"""Digits of an .npz file to distorted digits in batches."""

import contextlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import keras
import numpy as np
import tensorflow as tf

from keras_attn.text.label_table import LabelTable
from pipelines.ahead import ahead
from pipelines.digit_distortions import DIGIT
from pipelines.epoch_plan import EpochPlan
from pipelines.labeled_data import LabeledData
from pipelines.labeling import in_words

if TYPE_CHECKING:
    from pipelines.digits import DigitsRecipe

DOWNLOADED = "keras:mnist"
ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
KEYS = ("x_train", "y_train", "x_test", "y_test")
FIXED_BATCH = 500
"""Digits of dev or test that are distorted together; clutter is made of pieces of the others."""


@dataclass(frozen=True)
class Digits:
    """Digits as they were written.

    Attributes:
        pictures: uint8 (N, 28, 28), white on black.
        labels: tuple of N strings.
    """

    pictures: np.ndarray
    labels: tuple[str, ...]

    def __len__(self):
        return len(self.labels)

    def part(self, first, last=None) -> "Digits":
        """Those from `first` on, before `last` if there is one."""
        return Digits(self.pictures[first:last], self.labels[first:last])


@dataclass(frozen=True)
class DigitPicture:
    """A distorted digit.

    Attributes:
        name: of its split and its place there.
        label: string.
        picture: uint8 (height, width, 3).
    """

    name: str
    label: str
    picture: np.ndarray


def read_digits(data, dev_share: float) -> dict[str, Digits]:
    """Reads digits as Keras keeps MNIST.

    Args:
        data: path of an .npz file with x_train and x_test, uint8 (N, 28, 28), and y_train and
            y_test, integers (N,); of a folder with one .npz file; or "keras:mnist", which is
            downloaded once, into Keras' cache.
        dev_share: share of the training digits, which should be in no order, the last of them,
            that is dev.

    Returns:
        dict of "train", "dev" and "test".

    Raises:
        ValueError: no such file, a damaged one, other arrays, or no digit left for a split.
        OSError: MNIST cannot be downloaded.
    """
    path = _path(data)
    try:
        with zipfile.ZipFile(path), np.load(path) as file:
            found = {key: np.asanyarray(file[key]) for key in KEYS if key in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"Expected an .npz file of digits at {path}. Received: {error}") from error
    if missing := [key for key in KEYS if key not in found]:
        raise ValueError(f"Expected arrays {in_words(KEYS)} in {path}. Received: no {missing[0]}")
    for split in ("train", "test"):
        _check(path, found, split)
    train = _digits(found, "train")
    first = len(train) - round(len(train) * dev_share)
    splits = {
        "train": train.part(0, first),
        "dev": train.part(first),
        "test": _digits(found, "test"),
    }
    for name, own in splits.items():
        if not len(own):
            raise ValueError(
                f"Expected digits in the split {name!r} of {path}. Received: none of {len(train)}"
            )
    return {**splits, "test": _digits(found, "test")}


def _path(data):
    if str(data) == DOWNLOADED:
        try:
            return Path(keras.utils.get_file("mnist.npz", ORIGIN, file_hash=SHA256))
        except Exception as error:  # Keras raises no narrower one.
            raise OSError(
                f"Expected to download {ORIGIN} for {DOWNLOADED}; a path of mnist.npz needs no "
                f"download. Received: {error}"
            ) from error
    path = Path(data)
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if len(files) != 1 or not files[0].is_file():
        received = in_words([one.name for one in files]) or "no .npz file"
        received = received if path.is_dir() else "no such file"
        raise ValueError(
            f"Expected an .npz file of digits, a folder with one, or {DOWNLOADED}. "
            f"Received: {data}, {received}"
        )
    return files[0]


def _check(path, found, split):
    pictures, labels = found[f"x_{split}"], found[f"y_{split}"]
    if pictures.dtype != np.uint8 or pictures.shape[1:] != (DIGIT, DIGIT):
        raise ValueError(
            f"Expected x_{split} uint8 (N, {DIGIT}, {DIGIT}) in {path}. "
            f"Received: {pictures.dtype} {pictures.shape}"
        )
    if labels.shape != pictures.shape[:1] or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"Expected y_{split} integers ({len(pictures)},) in {path}. "
            f"Received: {labels.dtype} {labels.shape}"
        )


def _digits(found, split):
    return Digits(found[f"x_{split}"], tuple(str(one) for one in found[f"y_{split}"]))


@dataclass(frozen=True)
class DigitBatches:
    """Makes batches of distorted digits with their classes, see `ClassBatches`.

    Attributes:
        labels: `LabelTable` that knows every label, or None where only `fixed` is wanted.
        distort: function from digits float32 (B, 28, 28, 1) and a seed int64 (2,) to pictures of
            0..1, see `digit_distortions`.
        size: int. B, the global batch size.
        seed: int. Of the shuffling and of the distortions in training.
        fixed_seed: int. Of the distortions elsewhere.
    """

    labels: LabelTable | None
    distort: Callable
    size: int
    seed: int
    fixed_seed: int

    def fixed(self, digits: Digits) -> Iterator[np.ndarray]:
        """Pictures uint8 (B, height, width, 3) in their order, always distorted in the same way."""
        for start in range(0, len(digits), FIXED_BATCH):
            seed = tf.constant([self.fixed_seed, start], tf.int64)
            own = digits.pictures[start : start + FIXED_BATCH]
            yield self._pictures(tf.constant(own), seed).numpy()

    def dataset(self, digits: Digits):
        """A `tf.data.Dataset` of (pictures, classes, weights), each digit once, as `fixed`."""
        pictures, classes = np.concatenate(list(self.fixed(digits))), self._classes(digits)
        plan = EpochPlan(np.zeros(len(digits), "int32"), self.size)

        def read(step):
            row = plan.batch(step)
            own = tf.maximum(row, 0)
            weights = tf.cast(row >= 0, tf.float32)
            return *self._sized(tf.gather(pictures, own), tf.gather(classes, own)), weights

        dataset = ahead(tf.data.Dataset.range(plan.steps).map(read))
        return dataset.apply(tf.data.experimental.assert_cardinality(plan.steps))

    def training(self, digits: Digits, start=0):
        """As `dataset`, but without end, shuffled and distorted anew in each epoch.

        A batch is a function of the seed and of its step alone.

        Args:
            digits: `Digits`.
            start: int. First step.
        """
        plan = EpochPlan(np.zeros(len(digits), "int32"), self.size, self.seed)
        written, classes = tf.constant(digits.pictures), self._classes(digits)

        def read(step):
            row = plan.batch(step)
            own = tf.maximum(row, 0)
            seed = tf.stack([tf.constant(self.seed, tf.int64), step])
            pictures = self._pictures(tf.gather(written, own), seed)
            return *self._sized(pictures, tf.gather(classes, own)), tf.cast(row >= 0, tf.float32)

        return ahead(tf.data.Dataset.range(start, tf.int64.max).map(read))

    def steps(self, digits: Digits) -> int:
        """Batches in one epoch."""
        return -(-len(digits) // self.size)

    def _classes(self, digits):
        return tf.constant([self.labels.id_of(one) for one in digits.labels], tf.int32)

    def _pictures(self, written, seed):
        """uint8 (B, 28, 28) to uint8 (B, height, width, 3)."""
        distorted = self.distort(tf.cast(written, tf.float32)[..., None] / 255.0, seed)
        bright = tf.cast(tf.clip_by_value(tf.round(255.0 * distorted), 0, 255), tf.uint8)
        return tf.repeat(bright, 3, axis=-1)

    def _sized(self, pictures, classes):
        shape = (self.size, *pictures.shape[1:])
        return tf.ensure_shape(pictures, shape), tf.ensure_shape(classes, shape[:1])


class DigitData(LabeledData):
    """Everything that `fit` wants of digits: `DigitBatches`, and splits that are `Digits`."""

    @classmethod
    def load(cls, recipe: "DigitsRecipe", data, labels=None) -> "DigitData":
        """Reads digits, learns the labels and makes the data sets.

        Args:
            recipe: `DigitsRecipe`.
            data: as for `read_digits`.
            labels: `LabelTable`, to take one that exists instead of learning it.

        Raises:
            ValueError: as `read_digits`; fewer than two labels; a label of train or dev that is not
                among `labels`, or not in train, as where digits are sorted.
        """
        splits = read_digits(data, recipe.dev_share)
        found = sorted(set(splits["train"].labels))
        if labels is None and len(found) < 2:
            raise ValueError(f"Expected digits of two labels or more. Received: {found}")
        labels = LabelTable(found) if labels is None else labels
        met = sorted({*found, *splits["dev"].labels})
        if strange := [one for one in met if labels.id_of(one) is None]:
            raise ValueError(
                f"Expected labels of {in_words(labels.labels)} in train and dev, the last "
                f"of the training digits. Received: {in_words(strange)}"
            )
        batches = recipe.batches(labels)
        dev, steps = batches.dataset(splits["dev"]), batches.steps(splits["train"])
        return cls(labels, batches, splits, (), dev, steps)

    def naming_faults(self):
        """See `TrainingData`: all has been read."""
        return contextlib.nullcontext()
