"""An exported model of any kind; needs TensorFlow, but none of the model's code."""

import abc
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from tqdm import tqdm

from keras_attn.contracts import ERROR, IMAGE, SCORE, TERMS, TEXT
from keras_attn.decoding import DEAD
from keras_attn.saved.results import Drawing, Prediction
from keras_attn.saved.session import SavedSession
from keras_attn.serving.export import read_metadata
from keras_attn.serving.requests import Requests, joined
from keras_attn.viz.explorer import ExplorerPage

BATCH = 32
"""Batch size."""
PROBABILITY = "probability"
"""Unit of a classifier's scores; those of texts are in nats."""


class Saved(Requests):
    """Abstract: an exported model, called by its signatures; `keras_attn.load` makes one.

    `scored` names the inputs of `score`, the first of which is what the model reads; `answered`
    names the outputs with answers and scores.

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
            self._session = SavedSession(self.folder)

    @property
    def signatures(self) -> frozenset[str]:
        """Names of the signatures."""
        return frozenset(self._session.signatures)

    @property
    def takes_pictures(self) -> bool:
        """Whether the model takes pictures, and not texts."""
        return IMAGE in self.inputs_of("serving_default")

    @property
    def version(self) -> str:
        """The version, a number; 1 where the folder is not named for one."""
        return version_number(self.folder)

    def inputs_of(self, signature: str) -> list[str]:
        """Names of a signature's inputs.

        Raises:
            ValueError: no such signature.
        """
        return sorted(self._known(signature).inputs)

    def outputs(self, signature: str, columns: Mapping[str, Sequence[bytes]]) -> dict[str, Any]:
        """A signature's outputs as NumPy arrays, for all rows at once.

        Args:
            signature: its name.
            columns: dict of its inputs, each a list of B strings or an array of them.

        Raises:
            ValueError: no such signature, or other inputs.
        """
        return self._answer(signature, columns)

    def signature_shapes(self) -> dict[str, Any]:
        """The signatures as JSON, as TF Serving describes them."""
        return signatures_as_json(self._session.signatures)

    def __repr__(self):
        return f"{type(self).__name__}({str(self.folder)!r})"

    @property
    def terms(self) -> str:
        """Terms of use in a line, as `keras-attn export --terms` wrote them; often ''."""
        try:
            return str(read_metadata(self.folder).get(TERMS, ""))
        except ValueError:  # A SavedModel from elsewhere, or without readable metadata.
            return ""

    def predict(self, inputs: Sequence[Any], progress: bool | None = None) -> list[Prediction]:
        """Answers each input, in batches.

        Args:
            inputs: list of pictures (paths, encoded bytes, or uint8 arrays (height, width, 3)), of
                texts, or of sets of facts (lists of triples, or JSON).
            progress: whether to show a progress bar; None: on a terminal.

        Returns:
            list of `Prediction`; one with an `error` for an input that cannot be answered.

        Raises:
            ValueError: a single input instead of a list.

        Example:
            `keras_attn.load("saved_models/flickr8k_captioner").predict(["photo.jpg"])[0].text`
        """
        if isinstance(inputs, str | bytes | Path):
            raise ValueError(f"Expected a list of inputs. Received: {inputs!r:.80}")
        inputs = list(inputs)
        reasons = [self.reason(item) for item in inputs]
        answers = self.answers([item for item, reason in zip(inputs, reasons) if not reason])
        hidden = None if progress is None else not progress
        bar = tqdm(reasons, unit="answer", disable=hidden)
        return [
            Prediction(error=reason) if reason else self.prediction(next(answers)) for reason in bar
        ]

    def explain(self, asked: Any, heads=None, word=None, layer=None) -> Drawing:
        """A picture of where each word of the answer looked.

        Args:
            asked: an input, see `predict`.
            heads: "encoder", "decoder" or "cross": every layer and head of it; None: one picture of
                all heads together.
            word: str. What this word of the text attends to, or None.
            layer: int. With `word`, the layer, from 1.

        Raises:
            ValueError: an unreadable input, or no such figure.
        """
        return self.drawn(asked, heads, word, layer)

    @abc.abstractmethod
    def explore(self, asked: Any) -> ExplorerPage:
        """A page of HTML to look at the answer, and at where the model looked, by hand.

        Args:
            asked: an input, see `predict`.

        Returns:
            `ExplorerPage`; a notebook shows it, `save` writes it.

        Raises:
            ValueError: an unreadable input.
        """

    def score(self, first: Any, second: str) -> float:
        """Log-probability in nats of a text, given a picture or another text.

        Raises:
            ValueError: an unreadable input, or a model that scores no texts.
        """
        if "score" not in self.signatures:
            raise ValueError(
                "Expected a SavedModel with a signature 'score'; predict gives the probabilities "
                f"of other models' answers. Received: {self.folder}"
            )
        fed = {**self.fed(first), self.scored[1]: encoded_text(second)}
        (answer,) = self.ask("score", batch=1, **{key: [value] for key, value in fed.items()})
        if error := answer[ERROR].decode():
            raise ValueError(f"{shown(first)} and {shown(second)}: {error}")
        return float(answer[SCORE])

    @abc.abstractmethod
    def fed(self, item: Any) -> dict[str, bytes]:
        """What the model's signatures are given for an input, by name.

        Raises:
            ValueError: something of another kind.
        """

    @abc.abstractmethod
    def drawn(self, asked: Any, heads, word, layer) -> Drawing:
        """See `explain`."""

    def named(self, inputs: Sequence[str]) -> list[str]:
        """The inputs that a user named, expanded one by one."""
        return list(inputs)

    def reason(self, item: Any) -> str:
        """Why an input cannot be answered; '' if it can."""
        return ""

    def answers(self, inputs: Sequence[Any]) -> Iterator[dict]:
        """Answers of `serving_default` to inputs, as they come."""
        for start in range(0, len(inputs), BATCH):
            chunk = [self.fed(item) for item in inputs[start : start + BATCH]]
            columns = {key: [fed[key] for fed in chunk] for key in chunk[0]}
            yield from self.ask("serving_default", batch=BATCH, **columns)

    def prediction(self, answer: Mapping[str, Any]) -> Prediction:
        """What an answer of `serving_default` says; possibly fewer texts than requested."""
        if error := answer[ERROR].decode():
            return Prediction(error=error, outputs=answer)
        pairs = zip(*(answer[key] for key in self.answered))
        best = tuple((text.decode(), float(score)) for text, score in pairs if score > DEAD / 2)
        text, score = best[0] if best else ("", float("nan"))
        return Prediction(text, score, best, outputs=answer)

    def best_of(self, answer: Mapping[str, Any]) -> list[tuple[str, float]]:
        """The texts or labels of an answer with their scores, best first."""
        return list(self.prediction(answer).alternatives)

    def answer_of(self, signature: str, asked: Any) -> dict:
        """A signature's answer to one input.

        Raises:
            ValueError: an unreadable input.
        """
        fed = {key: [value] for key, value in self.fed(asked).items()}
        (answer,) = self.ask(signature, batch=1, **fed)
        if error := answer[ERROR].decode():
            raise ValueError(f"{shown(asked)}: {error}")
        return answer

    def ask(
        self, signature: str, /, *, batch: int = 32, **inputs: Sequence[str | bytes]
    ) -> list[dict]:
        """See `Requests`; an output that a row does not have is a ValueError."""
        rows = super().ask(signature, batch=batch, **inputs)
        return [_Row(self.folder, signature, row) for row in rows]

    def _answer(self, signature, chunk):
        if (expected := self.inputs_of(signature)) != sorted(chunk):
            raise ValueError(f"Expected inputs {expected}. Received: {sorted(chunk)}")
        try:
            return self._session.run(signature, {key: _strings(chunk[key]) for key in chunk})
        except (TypeError, tf.errors.InvalidArgumentError) as error:
            raise ValueError(str(error)) from error

    def _known(self, signature):
        if signature not in self._session.signatures:
            raise ValueError(
                f"Expected a SavedModel with a signature {signature!r}. Received: {self.folder}"
            )
        return self._session.signatures[signature]


def signatures_as_json(signatures: Mapping[str, Any]) -> dict[str, Any]:
    """Signatures, dict from name to `SignatureDef`, as TF Serving describes them."""
    described = {
        name: json_format.MessageToDict(
            signature,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        for name, signature in signatures.items()
    }
    return {"signature_def": described}


def _strings(values):
    """Values of an input as an array of bytes; anything but texts and bytes is a ValueError."""
    values = joined(values)
    array = values if isinstance(values, np.ndarray) else np.array(values, object)
    flat = [encoded_text(value) for value in array.ravel().tolist()]
    strings = np.empty(len(flat), object)
    strings[:] = flat
    return strings.reshape(array.shape)


class _Row(dict):
    """The outputs of a signature for one row, by name."""

    def __init__(self, folder, signature, outputs):
        super().__init__(outputs)
        self.place = f"{signature} of the SavedModel in {folder}"

    def __missing__(self, name):
        outputs = ", ".join(self)
        raise ValueError(f"Expected an output {name!r} of {self.place}. Received: {outputs}")


def encoded_text(text: str | bytes) -> bytes:
    """A text as bytes, surrogates as the bytes they stand for.

    Raises:
        ValueError: no text.
    """
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise ValueError(f"Expected a text. Received: {text!r:.80}")
    return text.encode(errors="surrogateescape")


def shown(asked: Any) -> str:
    """An input as a message repeats it."""
    if isinstance(asked, Path):
        return str(asked)
    return f"{asked!r:.80}" if isinstance(asked, str) else f"a {type(asked).__name__}"


def refuse_choices(kind: str, **choices) -> None:
    """Raises ValueError if any choice is not None, for a kind of model that has none of them."""
    if any(value is not None for value in choices.values()):
        received = ", ".join(f"{key}={value!r}" for key, value in choices.items())
        raise ValueError(f"Expected neither heads nor a word for {kind}. Received: {received}")


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
            f"({' '.join(str(error).split()):.120})"
        ) from error


def version_number(folder: Path) -> str:
    """The version that a folder is named for; 1 where it is named for none."""
    return folder.name if folder.name.isdecimal() else "1"


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
