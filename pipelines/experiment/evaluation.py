"""The result of an evaluation: metrics as a table, and everything as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Evaluation:
    """Answers on a split, scored.

    Attributes:
        scores: metrics by name.
        cells: each metric's heading and value as the table shows them.
        count: how many records there were.
        unit: what they are, in the plural.
        note: how the metrics were taken; it follows "COUNT UNIT of SPLIT, beam WIDTH".
        facts: what the JSON holds beside the other attributes, the answers for one.
        beam_width: of the search; None for a model that does not search.
        data: path of the data, as it was given.
        split: name of the split.
        errors: records that could not be read.
    """

    scores: Mapping[str, float]
    cells: Mapping[str, str]
    count: int
    unit: str
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    beam_width: int | None = None
    data: str = ""
    split: str = ""
    errors: Sequence[str] = ()

    def table(self) -> str:
        """The metrics as a Markdown table, and how they were taken."""
        head, row = " | ".join(self.cells), " | ".join(self.cells.values())
        beam = "" if self.beam_width is None else f", beam {self.beam_width}"
        taken = f"{self.count} {self.unit} of {self.split}{beam}{self.note}"
        return f"| {head} |\n|{' --- |' * len(self.cells)}\n| {row} |\n\n{taken}"

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
        return json.dumps({**content, **self.facts}, indent=2) + "\n"

    def flags(self) -> str:
        """Flags of the command line that it was made with, beside data and split."""
        return "" if self.beam_width is None else f" --beam-width {self.beam_width}"
