"""Labels, objective and model card of the classification tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

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


def label_card(service, description: str) -> dict[str, str]:
    """See `Task.card`."""
    pictures, labels = service.picture_format, service.labels
    return {
        "What it does": f"Classifies pictures: {description}, "
        f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}. "
        f"Labels: {in_words(labels.names)}.",
        "Service": f"{_signatures(service)} Pictures are fitted to "
        f"{pictures.height}×{pictures.width} by {pictures.fit}.",
        "Search": f"The {service.n_best} most probable of {labels.vocabulary_size} labels.",
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
