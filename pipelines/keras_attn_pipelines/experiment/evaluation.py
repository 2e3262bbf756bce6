"""The result of an evaluation: metrics as a table, and everything as JSON."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keras_attn.contracts import SCORE, TEXT
from keras_attn.escaping import escape_markdown

FEW = 100
FEW_TO_TRAIN = 1000


def few_records(count: int, unit: str) -> str:
    """What chance does to a metric on few records; '' from FEW records on.

    Args:
        count: number of records, at least 1.
        unit: plural noun for them.
    """
    if count >= FEW:
        return ""
    points = 50 / math.sqrt(count)
    share = f"a share such as accuracy has a standard error of up to {points:.0f} points"
    return f"on {count} of the {unit}, {share}" if count == 1 else f"on {count} {unit}, {share}"


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model's answers on a split.

    Attributes:
        scores: metrics by name.
        cells: each metric's heading and value as the table shows them.
        count: number of records.
        unit: plural noun for the records, such as "pictures".
        note: how the metrics were computed; printed after "COUNT UNIT of SPLIT, beam WIDTH".
        facts: further entries of the JSON, such as the answers.
        beam_width: beam width; None for a model without a search.
        metric_tokenization: tokenization of metrics that was asked for; None for training's.
        data: path of the data, as given.
        split: name of the split.
        errors: records that could not be read.
        trained: which epoch of the model's training was kept, and how far it got; '' if unknown.
        clip: name of the CLIP that judged the answers; None where none did.
    """

    scores: Mapping[str, float]
    cells: Mapping[str, str]
    count: int
    unit: str
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    beam_width: int | None = None
    metric_tokenization: str | None = None
    data: str = ""
    split: str = ""
    errors: Sequence[str] = ()
    trained: str = ""
    clip: str | None = None

    def table(self) -> str:
        """The metrics as a Markdown table, then how they were computed."""
        head, row = " | ".join(self.cells), " | ".join(self.cells.values())
        beam = "" if self.beam_width is None else f", beam {self.beam_width}"
        summary = f"{self.count} {self.unit} of {escape_markdown(self.split)}{beam}{self.note}"
        few = few_records(self.count, self.unit)
        summary += f"\n\nFew records: {few}." if few else ""
        return f"| {head} |\n|{' --- |' * len(self.cells)}\n| {row} |\n\n{summary}"

    def json(self) -> str:
        """Everything, as JSON."""
        content: dict[str, Any] = {
            "data": self.data,
            "split": self.split,
            "scores": dict(self.scores),
        }
        content |= {"errors": list(self.errors), self.unit: self.count}
        if self.beam_width is not None:
            content["beam_width"] = self.beam_width
        if self.trained:
            content["trained"] = self.trained
        return json.dumps({**content, **self.facts}, indent=2) + "\n"

    def flags(self) -> str:
        """Command-line flags that reproduce it, apart from data and split."""
        beam, tokenization = self.beam_width, self.metric_tokenization
        flags = "" if beam is None else f" --beam-width {beam}"
        flags += f" --metric-tokenization {tokenization}" if tokenization else ""
        return flags + (f" --clip {shlex.quote(self.clip)}" if self.clip else "")


def best_texts(answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """The best text of each answer of a service that generates texts."""
    return [answer[TEXT][0].decode() for answer in answers]


def listed_texts(
    answers: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]], key: str = "text"
) -> list[dict[str, Any]]:
    """The best texts for the facts of an `Evaluation`.

    Args:
        answers: of a service that generates texts.
        records: what each record is listed with, such as its source and its reference.
        key: of the text.
    """
    texts = best_texts(answers)
    return [
        {**record, key: text, "score": float(answer[SCORE][0])}
        for record, text, answer in zip(records, texts, answers)
    ]
