"""Asking a SavedModel: nothing of the model's code is needed, only TensorFlow's."""

import abc
import contextlib
import glob
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.contracts import CAPTION, ERROR, IMAGE, SOURCE, TAGS, TARGET
from keras_attn.serving.requests import CaptionRequests, Requests, TextRequests
from keras_attn.viz.alignment import Alignment, alignment_figure
from keras_attn.viz.attention import Explanation, explanation_figure
from keras_attn.viz.every_head import EveryHead
from keras_attn.viz.parsed_tree import ParsedTree, parsed_tree_figure
from keras_attn.whole_file import whole_file
from pipelines.readers.text_reader import PICTURE_SUFFIXES

BATCH = 32
"""What is asked at once."""


class Saved(Requests):
    """Abstract: an exported model, asked by its signatures; see `saved_model`.

    `scored` are the names of what `score` is asked about.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.

    Raises:
        ValueError: no SavedModel there.
    """

    scored: ClassVar[tuple[str, str]]

    def __init__(self, folder):
        self.folder = version_folder(folder)
        with whole_saved_model(self.folder):
            self._signatures = tf.saved_model.load(str(self.folder)).signatures

    def named(self, inputs: Sequence[str]) -> list[str]:
        """The things that a user names, one by one."""
        return list(inputs)

    @abc.abstractmethod
    def reasons(self, inputs: Sequence[str]) -> list[str]:
        """Why each thing that a user names cannot be asked; '' for those that can."""

    @abc.abstractmethod
    def answers(self, inputs: Sequence[str]) -> Iterable[dict]:
        """Answers of `serving_default` for what a user names, as they come."""

    @abc.abstractmethod
    def score_pair(self, first: str, second: str) -> dict:
        """Answer of `score` for two things that a user names; `scored` says what they are."""

    @abc.abstractmethod
    def explained(self, asked: str, out, heads=None, word=None, layer=None) -> Any:
        """Writes a picture of where each word of the answer looked.

        Args:
            asked: what a user names.
            out: path of the picture.
            heads: see `EveryHead.figure`; None for one picture of all heads together.
            word: see `EveryHead.word_figure`, or None.
            layer: with `word`.

        Returns:
            str. The answer.

        Raises:
            ValueError: what is asked cannot be read, `out` is no file of a known kind, or the model
                has no such picture.
            OSError: `out` cannot be written; what was there is untouched.
        """

    def _answer(self, signature, chunk):
        if signature not in self._signatures:
            raise ValueError(f"Expected a SavedModel that can {signature}. Received: {self.folder}")
        tensors = {key: tf.constant(values, tf.string) for key, values in chunk.items()}
        return {key: one.numpy() for key, one in self._signatures[signature](**tensors).items()}


class SavedCaptioner(CaptionRequests, Saved):
    """An exported captioner: `caption`, `explain` and `score` ask its signatures."""

    scored = (IMAGE, CAPTION)

    def named(self, inputs):
        """See `Saved`: paths of pictures; of folders, and of patterns such as `holiday/*.jpg`, what
        they hold, or themselves where that is nothing."""
        return [path for one in inputs for path in _pictures(one) or [one]]

    def reasons(self, inputs):
        """See `Saved`: paths of pictures."""
        return [_no_picture(Path(path)) for path in inputs]

    def answers(self, inputs):
        """See `Saved`: paths of pictures; files are read a batch at a time."""
        for start in range(0, len(inputs), BATCH):
            yield from self.caption_files(inputs[start : start + BATCH])

    def caption_files(self, paths: Sequence) -> list[dict]:
        """As `caption`, for files."""
        return self.caption([Path(path).read_bytes() for path in paths])

    def score_pair(self, first, second):
        """See `Saved`: path of a picture, and a caption."""
        return self.score([Path(first).read_bytes()], [second])[0]

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: path of a picture; a captioner has no heads."""
        if (heads, word, layer) != (None, None, None):
            raise ValueError("Expected heads or a word of a model of texts. Received: a captioner")
        return self.explain_file(asked, out).text

    def explain_file(self, path, out) -> Explanation:
        """Writes the attention picture of a file as PNG.

        Raises:
            ValueError: the file is not a picture that can be read, or `out` no .png.
            OSError: `out` cannot be written; what was there is untouched.
        """
        check_kind(out, (".png",))
        picture = Path(path).read_bytes()
        answer = self.explain([picture])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{path}: {error}")
        explanation = explanation_of(answer)
        write_figure(explanation_figure(picture, explanation), out)
        return explanation


class SavedTextModel(TextRequests, Saved):
    """An exported model from text to text: `answer`, `explain` and `score` ask its signatures."""

    scored = (SOURCE, TARGET)

    def reasons(self, inputs):
        """See `Saved`: texts."""
        return [""] * len(inputs)

    def answers(self, inputs):
        """See `Saved`: texts."""
        for start in range(0, len(inputs), BATCH):
            yield from self.answer([_encoded(one) for one in inputs[start : start + BATCH]])

    def score_pair(self, first, second):
        """See `Saved`: texts."""
        return self.score([_encoded(first)], [_encoded(second)])[0]

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: a text; PNG or SVG."""
        check_kind(out, (".png", ".svg"))
        if layer is not None and word is None:
            raise ValueError(f"Expected a word with a layer. Received: layer={layer} alone")
        if heads is not None and word is not None:
            raise ValueError(f"Expected heads or a word. Received: heads={heads!r}, word={word!r}")
        ask = self.explain if heads is None and word is None else self.attention
        answer = ask([_encoded(asked)])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{asked!r:.80}: {error}")
        if heads is None and word is None:
            found, figure = _pictured(answer)
        else:
            found = EveryHead.of(answer)
            figure = found.word_figure(word, layer) if heads is None else found.figure(heads)
        write_figure(figure, out)
        return found.text


def _pictures(named):
    """Paths of the pictures in a folder, at any depth, or of those that fit a pattern; in order."""
    path = Path(named)
    if path.is_file() or not (path.is_dir() or glob.has_magic(named)):
        return []
    inside = path.rglob("*") if path.is_dir() else map(Path, glob.glob(named, recursive=True))
    return sorted(
        str(one) for one in inside if one.suffix.lower() in PICTURE_SUFFIXES and one.is_file()
    )


def _no_picture(path):
    """Why a path cannot be asked about; '' where it can."""
    if path.is_dir():
        return f"a folder without pictures ({', '.join(PICTURE_SUFFIXES)})"
    return "" if path.is_file() else "no such file"


def saved_model(folder) -> SavedCaptioner | SavedTextModel:
    """The SavedModel in a folder, of whichever kind it is.

    Raises:
        ValueError: no SavedModel there, or one that asks for neither image nor source.
    """
    inputs = _inputs(version_folder(folder))
    if IMAGE in inputs:
        return SavedCaptioner(folder)
    if SOURCE in inputs:
        return SavedTextModel(folder)
    raise ValueError(f"Expected a SavedModel that asks for {IMAGE} or {SOURCE}. Received: {folder}")


def _pictured(answer):
    """What an answer of `explain` shows, and its picture: a parser's has tags."""
    if TAGS in answer:
        tree = ParsedTree.of(answer)
        return tree, parsed_tree_figure(tree)
    alignment = Alignment.of(answer)
    return alignment, alignment_figure(alignment)


def _inputs(version):
    """Names of what `serving_default` of a SavedModel asks for, read without loading it."""
    proto = saved_model_pb2.SavedModel()
    with whole_saved_model(version):
        proto.ParseFromString((version / "saved_model.pb").read_bytes())
    signatures = (graph.signature_def for graph in proto.meta_graphs)
    return {key for own in signatures for key in own["serving_default"].inputs}


def _encoded(text):
    """What a user named, as bytes; those that were not UTF-8 as they were."""
    return text.encode(errors="surrogateescape")


def check_kind(out, kinds: Sequence[str]) -> None:
    """Raises ValueError if a file's suffix is none of `kinds`."""
    if Path(out).suffix.lower() not in kinds:
        raise ValueError(f"Expected a {' or '.join(kinds)} file to write. Received: {out}")


def write_figure(figure, out) -> None:
    """Writes a matplotlib figure in one move, in the format of the file's suffix."""
    image = io.BytesIO()
    figure.savefig(image, format=Path(out).suffix[1:].lower(), dpi=110)
    with whole_file(out) as partial:
        partial.write_bytes(image.getvalue())


@contextlib.contextmanager
def whole_saved_model(folder):
    """Inside, a SavedModel is read from `folder`.

    Raises:
        ValueError: instead of whatever TensorFlow says of damaged files.
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
    versions = [one for one in folder.glob("*") if one.name.isdigit()]
    if not (folder / "saved_model.pb").is_file() and versions:
        folder = max(versions, key=lambda one: int(one.name))
    if not (folder / "saved_model.pb").is_file():
        raise ValueError(f"Expected a SavedModel or numbered versions of one. Received: {folder}")
    return folder


def explanation_of(answer: dict, rank: int = 0) -> Explanation:
    """The `Explanation` in one answer of `SavedCaptioner.explain`; rank 0 is the best caption."""
    return Explanation.of({key: np.asarray(value)[None] for key, value in answer.items()}, 0, rank)
