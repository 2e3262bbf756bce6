"""Accuracy of labels, and the most frequent mistakes."""

from collections import Counter

from keras_attn.contracts import LABEL_SCORES, LABELS
from keras_attn.escaping import escape_markdown
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.tasks.classification.names import TOP

SHOWN = 10
"""Mistakes listed in the table."""
NAMES = {"accuracy": "accuracy", "top_5": f"top-{TOP} accuracy"}


def evaluate_pictures(records, answers, labels, unit="pictures") -> Evaluation:
    """Scores a classifier's answers to labeled pictures: see `evaluate_labels`."""
    truth = [record.label for record in records]
    named = [{"image": record.name} for record in records]
    return evaluate_labels(truth, named, answers, labels, unit)


def evaluate_labels(truth, named, answers, labels, unit) -> Evaluation:
    """Scores a classifier's answers: see `Task.evaluation`.

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
        for wrong in mistakes[:SHOWN]
    )
    return f"{note}\n\n| label | taken for | {unit} |\n| --- | --- | --- |{rows}"
