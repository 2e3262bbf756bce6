"""Labels of a split: accuracy, and which labels are taken for which."""

from collections import Counter
from dataclasses import dataclass

from keras_attn.contracts import LABEL_SCORES, LABELS
from pipelines.evaluation import Evaluation

TOP = 5
"""So many labels, the most probable, are looked at, where as many are answered of more."""
SHOWN = 10
"""Mistakes in the table."""
NAMES = {"accuracy": "accuracy", "top_5": f"top-{TOP} accuracy"}


@dataclass(frozen=True)
class ClassEvaluation(Evaluation):
    """Labels of a split, scored.

    Attributes:
        pictures: how many there were.
        unknown: how many of them have a label that the model does not know; they count as wrong.
        mistakes: list of dicts with label, answer and count, the most frequent first.
        answers: list of dicts with image, label, labels (answered, best first), scores
            (probabilities).
    """

    pictures: int
    unknown: int
    mistakes: list[dict]
    answers: list[dict]

    @classmethod
    def of(cls, records, answers, labels, **facts) -> "ClassEvaluation":
        """Scores labels: see `Recipe.evaluation`.

        Args:
            records: sequence of `LabeledPicture`.
            answers: list of dicts of arrays, of a `ClassifierService`.
            labels: its `LabelTable`.
            **facts: other attributes.
        """
        truth = [one.label for one in records]
        found = [[label.decode() for label in answer[LABELS]] for answer in answers]
        wrong = Counter((label, own[0]) for label, own in zip(truth, found) if own[0] != label)
        scores = {"accuracy": 1 - wrong.total() / len(truth)}
        if labels.vocabulary_size > TOP and min(map(len, found)) >= TOP:
            scores["top_5"] = sum(a in own for a, own in zip(truth, found)) / len(truth)
        return cls(
            scores=scores,
            pictures=len(truth),
            unknown=sum(labels.id_of(label) is None for label in truth),
            mistakes=[
                {"label": label, "answer": answer, "count": count}
                for (label, answer), count in sorted(wrong.items(), key=_by_count)
            ],
            answers=[
                {"image": record.name, "label": record.label, "labels": own, "scores": scored}
                for record, own, scored in zip(
                    records, found, (answer[LABEL_SCORES].tolist() for answer in answers)
                )
            ],
            **facts,
        )

    def cells(self):
        """See `Evaluation`."""
        return {NAMES[key]: f"{100 * value:.1f}%" for key, value in self.scores.items()}

    def note(self):
        """See `Evaluation`: with a table of the most frequent mistakes."""
        note = f"{self.pictures} pictures of {self.split}"
        note += f"; {self.unknown} with labels that the model does not know" if self.unknown else ""
        if not self.mistakes:
            return note
        rows = "".join(
            f"\n| {_cell(one['label'])} | {_cell(one['answer']) or '(unreadable)'} "
            f"| {one['count']} |"
            for one in self.mistakes[:SHOWN]
        )
        return f"{note}\n\n| label | taken for | pictures |\n| --- | --- | --- |{rows}"

    def facts(self):
        """See `Evaluation`."""
        return {}

    def flags(self):
        """See `Evaluation`."""
        return ""


def _by_count(item):
    """The most frequent first, those of one count by their names."""
    pair, count = item
    return -count, pair


def _cell(label):
    """A label inside a Markdown table."""
    return label.replace("|", "\\|")
