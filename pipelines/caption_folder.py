"""What a data folder holds once it is read: pictures with captions, and what was left out."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class CaptionedPicture:
    """One picture and all its captions; `name` is what the caption file and split files call it."""

    name: str
    path: Path
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """A record that could not be used: where it stands and why.

    Attributes:
        file: that holds it.
        line: from 1; 0 where no line is known.
        reason: why it could not be used.
        name: of its picture, empty where it is not known.
    """

    file: Path
    line: int
    reason: str
    name: str = ""

    def __str__(self):
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.reason}"


@dataclass
class CaptionFolder:
    """What was read from a folder.

    Attributes:
        pictures: list of `CaptionedPicture`.
        records: how many records (captions) there were, with the unusable ones.
        skipped: list of `Skipped`, the unusable ones.
        source: the caption file, or the folder of sidecar files.
        form: what kind of file it is, in words.
    """

    pictures: list[CaptionedPicture]
    records: int
    skipped: list[Skipped] = field(default_factory=list)
    source: Path = Path()
    form: str = ""

    @property
    def unusable(self) -> dict[str, str]:
        """Why there is nothing of a picture, by its name; the first reason there was."""
        kept = {picture.name for picture in self.pictures}
        named = (one for one in reversed(self.skipped) if one.name and one.name not in kept)
        return {one.name: one.reason for one in named}

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
        if len(self.skipped) > tolerance * self.records:
            raise ValueError(
                f"Expected at most {tolerance:.1%} unusable records. "
                f"Received: {len(self.skipped)} of {self.records}:{listing(self.skipped)}"
            )


def listing(skipped: list[Skipped], most: int = 20) -> str:
    """The first few skipped records, one a line, and how many more there are."""
    lines = "".join(f"\n  {one}" for one in skipped[:most])
    more = len(skipped) - most
    return lines + (f"\n  … and {more} more" if more > 0 else "")
