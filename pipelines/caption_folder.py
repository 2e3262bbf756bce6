"""What a data folder holds once it is read: pictures with captions, and what was left out."""

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.skipped import Skipped, check_share


@dataclass(frozen=True)
class CaptionedPicture:
    """One picture and all its captions; `name` is what the caption file and split files call it."""

    name: str
    path: Path
    captions: tuple[str, ...]


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
        check_share(self.skipped, self.records, tolerance)
