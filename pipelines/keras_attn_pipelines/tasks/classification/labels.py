"""Labels, their scores and the model card of the classification tasks."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_attn.contracts import LABEL_SCORES, LABELS
from keras_attn.escaping import escape_markdown
from keras_attn.text.label_table import LabelTable
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.parts import Objective

SHOWN = 20
"""Labels listed in messages."""
TOP = 5
"""k of the top-k accuracy in an evaluation."""
MISTAKES = 10
"""Mistakes listed in the table."""
NAMES = {"accuracy": "accuracy", "top_5": f"top-{TOP} accuracy"}


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


def in_words(labels: Sequence[str]) -> str:
    """The first few labels, and the number of the rest."""
    more = len(labels) - SHOWN
    return ", ".join(labels[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def evaluate_pictures(records, answers, labels, unit="pictures") -> Evaluation:
    """Scores a classifier's answers to labeled pictures: see `evaluate_labels`."""
    truth = [record.label for record in records]
    named = [{"image": record.name} for record in records]
    return evaluate_labels(truth, named, answers, labels, unit)


def evaluate_labels(truth, named, answers, labels, unit) -> Evaluation:
    """Scores a classifier's answers: see `Work.evaluation`.

    Args:
        truth: label of each record.
        named: dict of what identifies each record among the facts, such as its name.
        answers: dicts of arrays, of a classifier's service.
        labels: its `LabelTable`.
        unit: plural noun for the records.
    """
    answered = [[label.decode() for label in answer[LABELS]] for answer in answers]
    wrong = Counter((label, best[0]) for label, best in zip(truth, answered) if best[0] != label)
    scores = {"accuracy": 1 - wrong.total() / len(truth)}
    if labels.vocabulary_size > TOP and min(map(len, answered)) >= TOP:
        scores["top_5"] = sum(label in top for label, top in zip(truth, answered)) / len(truth)
    unknown = sum(labels.id_of(label) is None for label in truth)
    mistakes = [
        {"label": label, "answer": answer, "count": count}
        for (label, answer), count in sorted(wrong.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return Evaluation(
        scores=scores,
        cells={NAMES[key]: f"{100 * value:.1f}%" for key, value in scores.items()},
        count=len(truth),
        unit=unit,
        note=_note(unknown, mistakes, unit),
        facts={
            "unknown": unknown,
            "mistakes": mistakes,
            "answers": [
                {
                    **name,
                    "label": label,
                    "labels": best,
                    "scores": answer[LABEL_SCORES].tolist(),
                }
                for name, label, best, answer in zip(named, truth, answered, answers)
            ],
        },
    )


def _note(unknown, mistakes, unit):
    """Number of unknown labels, and a table of the most frequent mistakes."""
    note = f"; {unknown} with labels that the model does not know" if unknown else ""
    if not mistakes:
        return note
    rows = "".join(
        f"\n| {escape_markdown(wrong['label'])} "
        f"| {escape_markdown(wrong['answer']) or '(unreadable)'} | {wrong['count']} |"
        for wrong in mistakes[:MISTAKES]
    )
    return f"{note}\n\n| label | taken for | {unit} |\n| --- | --- | --- |{rows}"


def picture_label_card(service, description: str) -> dict[str, str]:
    """See `Work.card`, for a classifier of pictures."""
    fitted = f"Pictures are fitted to {service.reader.picture_format}."
    answers = f"{_signatures(service)} {fitted}"
    return label_card(service, description, "pictures", answers)


def label_card(service, description: str, unit: str, answers: str) -> dict[str, str]:
    """See `Work.card`.

    Args:
        service: what `Work.service` returned.
        description: the model's `Built.description`.
        unit: plural noun for what is classified.
        answers: what its signatures answer.
    """
    labels = service.writer.labels
    return {
        "What it does": f"Classifies {unit}: {description}. "
        f"Labels: {in_words([escape_markdown(name) for name in labels.names])}.",
        "Service": answers,
        "Search": f"The {service.writer.n_best} most probable of {labels.vocabulary_size} labels.",
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
