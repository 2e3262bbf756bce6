"""Digits of an .npz file."""

from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

from keras_attn.untrusted import naming_damage, read_arrays
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.tasks.classification.digit_distortions import DIGIT
from keras_attn_pipelines.tasks.classification.labels import in_words

DOWNLOADED = "keras:mnist"
ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
SHA256 = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
KEYS = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True, eq=False)
class Digits:
    """The undistorted digits of a split.

    Attributes:
        split: name of the split.
        pictures: uint8 (N, 28, 28), white on black.
        labels: tuple of N strings.
    """

    split: str
    pictures: np.ndarray
    labels: tuple[str, ...]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, place):
        if not 0 <= place < len(self):
            raise IndexError(f"Expected a place below {len(self)}. Received: {place}")
        return Digit(self, place)

    def records(self) -> list["Digit"]:
        """The digits one by one."""
        return [self[place] for place in range(len(self))]


@dataclass(frozen=True)
class Digit:
    """A digit of a split.

    Attributes:
        digits: the split's `Digits`.
        place: its index among them.
    """

    digits: Digits
    place: int

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"{self.digits.split}/{self.place}"

    @property
    def label(self) -> str:
        """Its class."""
        return self.digits.labels[self.place]


def read_digits(data, dev_share: float) -> dict[str, Digits]:
    """Reads digits in Keras' format of MNIST.

    Args:
        data: path of an .npz file with x_train and x_test, uint8 (N, 28, 28), and y_train and
            y_test, integers (N,); of a folder with one .npz file; or "keras:mnist", which is
            downloaded once, into Keras' cache.
        dev_share: share of the training digits held out for dev, taken from their end; they should
            be shuffled.

    Returns:
        dict of "train", "dev" and "test".

    Raises:
        ValueError: no such file, a damaged one, other arrays, or no digit left for a split.
        OSError: MNIST cannot be downloaded.
    """
    path = _path(data)
    with naming_damage(f"an .npz file of digits at {path}"):
        arrays = read_arrays(path, KEYS)
    if missing := [key for key in KEYS if key not in arrays]:
        raise ValueError(f"Expected arrays {in_words(KEYS)} in {path}. Received: no {missing[0]}")
    for split in ("train", "test"):
        _check(path, arrays, split)
    count = len(arrays["y_train"])
    first = count - round(count * dev_share)
    splits = {
        "train": _digits("train", arrays, "train", slice(first)),
        "dev": _digits("dev", arrays, "train", slice(first, None)),
        "test": _digits("test", arrays, "test", slice(None)),
    }
    for name, digits in splits.items():
        if not len(digits):
            raise ValueError(
                f"Expected digits in the split {name!r} of {path}. Received: none of {count}"
            )
    return splits


def _path(data):
    if str(data) == DOWNLOADED:
        try:
            return Path(keras.utils.get_file("mnist.npz", ORIGIN, file_hash=SHA256))
        except Exception as error:  # Keras raises nothing narrower.
            raise OSError(
                f"Expected to download {ORIGIN} for {DOWNLOADED} (the path of mnist.npz "
                f"needs no download). Received: {error}"
            ) from error
    path = Path(data)
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if len(files) != 1 or not files[0].is_file():
        received = in_words([file.name for file in files]) or "no .npz file"
        received = received if path.is_dir() else "no such file"
        raise ValueError(
            f"Expected an .npz file of digits, a folder with one, or {DOWNLOADED}. "
            f"Received: {data}, {received}"
        )
    return check_inside(files[0], path) if path.is_dir() else files[0]


def _check(path, arrays, split):
    pictures, labels = arrays[f"x_{split}"], arrays[f"y_{split}"]
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


def _digits(name, arrays, split, part):
    labels = tuple(str(label) for label in arrays[f"y_{split}"][part])
    return Digits(name, arrays[f"x_{split}"][part], labels)
