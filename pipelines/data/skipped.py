"""Records that could not be used: where they stand and why, and how many are too many."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Skipped:
    """A record that could not be used: where it stands and why.

    Attributes:
        file: that holds it.
        line: from 1; 0 where no line is known.
        reason: why it could not be used.
        name: of its picture, empty where it is not known or there is none.
    """

    file: Path
    line: int
    reason: str
    name: str = ""

    def __str__(self):
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.reason}"


def check_share(skipped: Sequence[Skipped], records: int, tolerance: float) -> None:
    """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
    if len(skipped) > tolerance * records:
        raise ValueError(
            f"Expected at most {tolerance:.1%} unusable records. "
            f"Received: {len(skipped)} of {records}:{listing(skipped)}"
        )


def listing(skipped: Sequence[Skipped], most: int = 20) -> str:
    """The first few skipped records, one a line, and how many more there are."""
    lines = "".join(f"\n  {skip}" for skip in skipped[:most])
    more = len(skipped) - most
    return lines + (f"\n  … and {more} more" if more > 0 else "")
