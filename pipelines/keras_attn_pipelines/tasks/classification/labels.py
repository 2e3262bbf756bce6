"""Labels, objective and model card of the classification tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from keras_attn.escaping import escape_markdown
from keras_attn.text.label_table import LabelTable
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn_pipelines.experiment.parts import Objective

SHOWN = 20
"""Labels listed in messages."""


@dataclass(frozen=True)
class LabelFeatures:
    """What a classification task needs again during training.

    Attributes:
        labels: `LabelTable`.
        shown: function that makes a few pictures of dev, uint8 (n, height, width, 3).
    """

    labels: LabelTable
    shown: Callable[[], Any]


def learn_labels(labels: Sequence[str], unit: str) -> dict[str, LabelTable]:
    """The sorted labels of training records.

    Raises:
        ValueError: fewer than two labels.
    """
    known = sorted(set(labels))
    if len(known) < 2:
        raise ValueError(f"Expected {unit} of two labels or more. Received: {known}")
    return {"labels": LabelTable(known)}


def known_labels(
    splits: Mapping[str, Sequence[Any]], labels: LabelTable, label_of: Callable, unit: str
) -> tuple[dict[str, Sequence[Any]], list[Any]]:
    """The splits without dev records of unknown labels, and these records.

    Args:
        splits: records by split.
        labels: `LabelTable`.
        label_of: function from a record to its label.
        unit: noun for a record.

    Raises:
        ValueError: an unknown label in train, or no record of dev with a known label.
    """
    train = {label_of(record) for record in splits["train"]}
    if unknown_labels := sorted(label for label in train if labels.id_of(label) is None):
        raise ValueError(
            f"Expected only labels {in_words(labels.names)} in train. "
            f"Received: {in_words(unknown_labels)}"
        )
    known = [record for record in splits["dev"] if labels.id_of(label_of(record)) is not None]
    unknown = [record for record in splits["dev"] if labels.id_of(label_of(record)) is None]
    if not known:
        unknown_labels = sorted({label_of(record) for record in unknown})
        raise ValueError(
            f"Expected a {unit} of dev with a label of train. Received: {in_words(unknown_labels)}"
        )
    return {**splits, "dev": known}, unknown


def unknown_reason(label: str) -> str:
    """Why a dev record of a label that train lacks is skipped."""
    return f"the label {label!r} of dev is not in train"


def label_objective(model, label_smoothing: float) -> Objective:
    """Cross-entropy of the label, in nats per example."""
    return Objective(model, TokenCrossEntropy(label_smoothing), [TokenAccuracy("accuracy")])


def check_no_beam(beam_width: int | None) -> None:
    """Raises ValueError for a beam width, since a classifier has no search."""
    if beam_width is not None:
        raise ValueError(
            "Expected no beam width for a classifier, which has no search. "
            f"Received: beam_width={beam_width}"
        )


def in_words(labels: Sequence[str]) -> str:
    """The first few labels, and the number of the rest."""
    more = len(labels) - SHOWN
    return ", ".join(labels[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def picture_label_card(service, description: str) -> dict[str, str]:
    """See `Task.card`, for a classifier of pictures."""
    pictures = service.reader.picture_format
    answers = (
        f"{_signatures(service)} Pictures are fitted to {pictures.height}×{pictures.width} by "
        f"{pictures.fit}."
    )
    return label_card(service, description, "pictures", answers)


def label_card(service, description: str, unit: str, answers: str) -> dict[str, str]:
    """See `Task.card`.

    Args:
        service: what `Task.service` returned.
        description: the model's `Built.description`.
        unit: plural noun for what is classified.
        answers: what its signatures answer.
    """
    labels = service.writer.labels
    return {
        "What it does": f"Classifies {unit}: {description}, "
        f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}. "
        f"Labels: {in_words([escape_markdown(name) for name in labels.names])}.",
        "Service": answers,
        "Search": f"The {service.writer.n_best} most probable of {labels.vocabulary_size} labels.",
        "License": "Code: Apache-2.0. The weights are subject to the terms of their "
        "training data and of the pretrained model, if any.",
    }


def _signatures(service) -> str:
    """What the signatures of a service answer."""
    default = (
        "Signature `serving_default`: image (encoded bytes) to labels, scores (probabilities), "
    )
    signatures = service.signatures()
    if "attention" in signatures:
        return (
            f"{default}error. `explain`: also weights (how much of each patch is in the picture's "
            "vector, by attention rollout). `attention`: also the weights of every block and head."
        )
    if "explain" in signatures:
        return (
            f"{default}error, crop (what the CNN saw, uint8, RGB). `explain`: also picture (what "
            "the transformers saw), grid (where in it each pixel of crop was read, x and y from "
            "−1 to 1)."
        )
    return f"{default}error."
