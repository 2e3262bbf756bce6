"""The result of an evaluation: metrics as a table, and everything as JSON."""

import abc
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Evaluation(abc.ABC):
    """Abstract: answers on a split, scored.

    Attributes:
        data: path of the data folder, as it was given.
        split: name of the split.
        scores: dict of metrics.
        errors: list of strings, records that could not be read.
    """

    data: str
    split: str
    scores: dict[str, float]
    errors: list[str]

    def table(self) -> str:
        """The metrics as a Markdown table, and how they were taken."""
        cells = self.cells()
        head, row = " | ".join(cells), " | ".join(cells.values())
        return f"| {head} |\n|{' --- |' * len(cells)}\n| {row} |\n\n{self.note()}"

    def json(self) -> str:
        """Everything, as JSON."""
        return json.dumps({**self.__dict__, **self.facts()}, indent=2) + "\n"

    @abc.abstractmethod
    def cells(self) -> dict[str, str]:
        """Each metric's name and value, as they are shown."""

    @abc.abstractmethod
    def note(self) -> str:
        """How the metrics were taken."""

    @abc.abstractmethod
    def facts(self) -> dict[str, str]:
        """What the JSON holds beside the attributes."""

    @abc.abstractmethod
    def flags(self) -> str:
        """Flags of the command line that it was made with, beside data and split."""


@dataclass(frozen=True)
class SearchEvaluation(Evaluation):
    """Abstract: answers that a beam found, scored.

    Attributes:
        beam_width: int.
    """

    beam_width: int

    def flags(self):
        """See `Evaluation`."""
        return f" --beam-width {self.beam_width}"
