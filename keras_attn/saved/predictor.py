"""Answers to a user's inputs, by a model that has them as strings."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from keras_attn.contracts import (
    DEAD,
    ERROR,
    IMAGE,
    LABEL_SCORES,
    LABELS,
    SCORE,
    SCORE_UNIT,
    SENTENCES,
    TEXT,
)
from keras_attn.progress import Progress
from keras_attn.saved.inputs import Inputs
from keras_attn.saved.results import NATS, PROBABILITY, Prediction
from keras_attn.serving.requests import Requests
from keras_attn.text.detokenize import detokenized
from keras_attn.viz.declared import DeclaredView, Note

BATCH = 32
"""Batch size."""


class Predictor(Requests):
    """Abstract: a model that answers inputs by `serving_default`; subclasses answer a batch.

    Attributes:
        folder: path of the model or run.
        views: declared views of its answers.
        takes: `Inputs`, the kind of its inputs.
        notes: `Note`s about its answers.
        metadata: dict, of its service.
        answered: names of the outputs with answers and with their scores.
    """

    folder: Path
    views: Sequence[DeclaredView]
    takes: Inputs
    notes: Sequence[Note]
    metadata: Mapping[str, Any]
    answered: tuple[str, ...]

    @property
    def takes_pictures(self) -> bool:
        """Whether the model takes pictures, and not texts."""
        return self.takes.name == IMAGE

    @property
    def unit(self) -> str:
        """Unit of the scores of answers: PROBABILITY of labels, that of the metadata or NATS of
        texts."""
        return PROBABILITY if self.answered[0] == LABELS else self.metadata.get(SCORE_UNIT, NATS)

    def predict(
        self, inputs: Sequence[Any], progress: bool | None = None, n_best: int | None = None
    ) -> list[Prediction]:
        """Answers each input, in batches.

        Args:
            inputs: list of pictures (paths, encoded bytes, or uint8 arrays (height, width, 3)), of
                texts, or of sets of facts (lists of triples, or JSON).
            progress: whether to show progress; None: on a terminal.
            n_best: maximum number of answers to each input, at most those of the model; None: its.

        Returns:
            list of `Prediction`; one with an `error` for an input that cannot be answered.

        Raises:
            ValueError: a single input instead of a list, or more answers than the model gives.

        Example:
            `keras_attn.load("flickr8k_captioner").predict(["photo.jpg"])[0].text`
        """
        one = str | bytes | Path | Mapping | Set
        is_picture = self.takes_pictures and getattr(inputs, "ndim", 4) < 4
        if isinstance(inputs, one) or is_picture or not isinstance(inputs, Collection):
            raise ValueError(f"Expected a list of inputs. Received: {inputs!r:.80}")
        self.check_n_best(n_best)
        inputs = list(inputs)
        reasons = [self.takes.reason(item) for item in inputs]
        answers = self.answers([item for item, reason in zip(inputs, reasons) if not reason])
        return [
            Prediction(error=reason) if reason else self.prediction(next(answers), n_best)
            for reason in Progress.over(reasons, "answers", "answer", progress)
        ]

    def answers(self, inputs: Sequence[Any]) -> Iterator[dict]:
        """Answers of `serving_default` to inputs, as they come."""
        for start in range(0, len(inputs), BATCH):
            chunk = [self.takes.feed(item) for item in inputs[start : start + BATCH]]
            columns = {key: [fed[key] for fed in chunk] for key in chunk[0]}
            yield from self.ask("serving_default", batch=BATCH, **columns)

    def check_n_best(self, n_best: int | None) -> None:
        """Raises ValueError for a number of answers that the model does not give."""
        most = self.metadata.get("n_best", 1)
        if n_best is not None and not 1 <= n_best <= most:
            raise ValueError(
                f"Expected n_best between 1 and {most}, which the model was exported with "
                f"(keras-attn export --n-best). Received: n_best={n_best}"
            )

    def prediction(self, answer: Mapping[str, Any], n_best: int | None = None) -> Prediction:
        """What an answer of `serving_default` says; possibly fewer texts than requested."""
        if error := answer[ERROR].decode():
            return Prediction(error=error, outputs=answer)
        pairs = zip(*(answer[key][:n_best] for key in self.answered))
        best = tuple(
            (self._sentence(text.decode()), float(score))
            for text, score in pairs
            if score > DEAD / 2
        )
        text, score = best[0] if best else ("", float("nan"))
        return Prediction(text, score, best, outputs=answer, unit=self.unit)

    def notes_on(self, answer: Mapping[str, Any]) -> list[str]:
        """What the declared notes say about an answer of `serving_default` or `explain`."""
        return [sentence for note in self.notes if (sentence := note.read(answer))]

    def _sentence(self, text):
        """A text of an answer as a sentence; captions of earlier versions may have tokens."""
        may_be_spaced = self.takes_pictures and not self.metadata.get(SENTENCES)
        return detokenized(text) if may_be_spaced and TEXT in self.answered else text


def answered_by(outputs: Collection[str]) -> tuple[str, ...]:
    """Names of the outputs with answers and with their scores."""
    return (LABELS, LABEL_SCORES) if LABELS in outputs else (TEXT, SCORE)
