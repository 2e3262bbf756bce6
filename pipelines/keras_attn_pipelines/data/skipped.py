"""Unusable records with place and reason, and the limit on their share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_attn.escaping import escape_terminal


@dataclass(frozen=True)
class Skipped:
    """An unusable record, with place and reason.

    Attributes:
        file: its file.
        line: its line from 1, or 0 if unknown.
        reason: why it is unusable.
        name: name of its picture, or '' if there is none or it is unknown.
    """

    file: Path
    line: int
    reason: str
    name: str = ""

    def __str__(self):
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return escape_terminal(f"{place}: {self.reason}").replace("\n", "\\n")


def check_share(skipped: Sequence[Skipped], records: int, tolerance: float) -> None:
    """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
    if len(skipped) > tolerance * records:
        raise ValueError(
            f"Expected at most {tolerance:.1%} unusable records. "
            f"Received: {len(skipped)} of {records}:{listing(skipped)}"
        )


def listing(skipped: Sequence[Skipped], most: int = 20) -> str:
    """The first few skipped records, one per line, and the number of the rest."""
    lines = "".join(f"\n  {skip}" for skip in skipped[:most])
    more = len(skipped) - most
    return lines + (f"\n  … and {more} more" if more > 0 else "")
