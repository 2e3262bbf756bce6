"""An exported model of any kind; needs TensorFlow, but none of the model's code."""

import abc
import contextlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)
from google.protobuf.message import DecodeError

from keras_attn.contracts import SCORE, TEXT
from keras_attn.serving.requests import Requests
from keras_attn.whole_file import whole_file

BATCH = 32
"""Batch size."""


class Saved(Requests):
    """Abstract: an exported model, called by its signatures; see `saved_model`.

    `scored` names the inputs of `score`; `answered` names the outputs with answers and scores.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.

    Raises:
        ValueError: no SavedModel there.
    """

    scored: ClassVar[tuple[str, str]]
    answered: ClassVar[tuple[str, str]] = (TEXT, SCORE)

    def __init__(self, folder):
        self.folder = version_folder(folder)
        with whole_saved_model(self.folder):
            self._signatures = tf.saved_model.load(str(self.folder)).signatures

    def ask(
        self, signature: str, /, *, batch: int = 32, **inputs: Sequence[str | bytes]
    ) -> list[dict]:
        """See `Requests`; an output that a row does not have is a ValueError."""
        rows = super().ask(signature, batch=batch, **inputs)
        return [_Row(self.folder, signature, row) for row in rows]

    def named(self, inputs: Sequence[str]) -> list[str]:
        """The inputs that a user named, expanded one by one."""
        return list(inputs)

    @abc.abstractmethod
    def reasons(self, inputs: Sequence[str]) -> list[str]:
        """Why each input cannot be answered; '' for those that can."""

    @abc.abstractmethod
    def answers(self, inputs: Sequence[str]) -> Iterable[dict]:
        """Answers of `serving_default` to inputs, as they come."""

    @abc.abstractmethod
    def score_pair(self, first: str, second: str) -> dict:
        """Answer of `score` to two inputs; `scored` says what they are."""

    @abc.abstractmethod
    def explained(self, asked: str, out, heads=None, word=None, layer=None) -> Any:
        """Writes a picture of where each word of the answer looked.

        Args:
            asked: an input.
            out: path of the picture.
            heads: see `EveryHead.figure`; None for one picture of all heads together.
            word: see `EveryHead.word_figure`, or None.
            layer: with `word`.

        Returns:
            str. The answer.

        Raises:
            ValueError: an unreadable input, an unknown suffix of `out`, or no such figure.
            OSError: `out` cannot be written; an existing file is unchanged.
        """

    def _answer(self, signature, chunk):
        if signature not in self._signatures:
            raise ValueError(
                f"Expected a SavedModel with a signature {signature!r}. Received: {self.folder}"
            )
        expected = self._signatures[signature].structured_input_signature[1]
        if set(chunk) != set(expected):
            raise ValueError(f"Expected inputs {sorted(expected)}. Received: {sorted(chunk)}")
        tensors = {key: tf.constant(values, tf.string) for key, values in chunk.items()}
        return {
            key: tensor.numpy() for key, tensor in self._signatures[signature](**tensors).items()
        }


class _Row(dict):
    """The outputs of a signature for one row, by name."""

    def __init__(self, folder, signature, outputs):
        super().__init__(outputs)
        self.place = f"{signature} of the SavedModel in {folder}"

    def __missing__(self, name):
        outputs = ", ".join(self)
        raise ValueError(f"Expected an output {name!r} of {self.place}. Received: {outputs}")


def check_kind(out, kinds: Sequence[str]) -> None:
    """Raises ValueError if a file's suffix is none of `kinds`."""
    if Path(out).suffix.lower() not in kinds:
        raise ValueError(f"Expected a {' or '.join(kinds)} file to write. Received: {out}")


def write_figure(figure, out) -> None:
    """Writes a matplotlib figure atomically, in the format of the file's suffix."""
    image = io.BytesIO()
    figure.savefig(image, format=Path(out).suffix[1:].lower(), dpi=110)
    with whole_file(out) as partial:
        partial.write_bytes(image.getvalue())


@contextlib.contextmanager
def whole_saved_model(folder):
    """Context in which a SavedModel is read from `folder`.

    Raises:
        ValueError: in place of TensorFlow's errors for damaged files.
    """
    try:
        yield
    except (DecodeError, IndexError, OSError, ValueError, tf.errors.OpError) as error:
        raise ValueError(
            f"Expected a SavedModel in {folder}. Received: damaged files "
            f"({str(error).partition(chr(10))[0]:.120})"
        ) from error


def version_folder(folder) -> Path:
    """The folder of a SavedModel: `folder` itself or the highest of the versions in it.

    Raises:
        ValueError: no SavedModel there.
    """
    folder = Path(folder)
    numbered = (entry for entry in folder.glob("*") if entry.name.isdecimal())
    versions = [version for version in numbered if (version / "saved_model.pb").is_file()]
    if not (folder / "saved_model.pb").is_file() and versions:
        folder = max(versions, key=lambda version: int(version.name))
    if not (folder / "saved_model.pb").is_file():
        raise ValueError(f"Expected a SavedModel or numbered versions of one. Received: {folder}")
    return folder
