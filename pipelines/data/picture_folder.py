"""What a data folder holds once it is read: pictures with captions or labels, and what was left
out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from keras_attn_pipelines.data.skipped import Skipped, check_share


@dataclass(frozen=True)
class CaptionedPicture:
    """One picture and all its captions.

    Attributes:
        name: what the caption file and split files call it.
        path: of the file.
        captions: of the picture.
        digest: SHA-256 of the file's bytes in hexadecimal.
    """

    name: str
    path: Path
    captions: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class LabeledPicture:
    """One picture and its class.

    Attributes:
        name: what the file of labels and split files call it, or its path in the data folder.
        path: of the file.
        label: of its class.
        digest: SHA-256 of the file's bytes in hexadecimal.
        split: of the folder it is in; empty where folders are no splits.
    """

    name: str
    path: Path
    label: str
    digest: str
    split: str = ""


Picture = TypeVar("Picture", CaptionedPicture, LabeledPicture)


@dataclass
class PictureFolder(Generic[Picture]):
    """What was read from a folder.

    Attributes:
        pictures: list of `CaptionedPicture` or `LabeledPicture`.
        records: how many records (captions or labels) there were, with the unusable ones.
        skipped: list of `Skipped`, the unusable ones.
        source: the file of captions or labels, or the folder where there is none.
        form: what kind of file it is, in words.
    """

    pictures: list[Picture]
    records: int
    skipped: list[Skipped] = field(default_factory=list)
    source: Path = Path()
    form: str = ""

    @property
    def unusable(self) -> dict[str, str]:
        """Why there is nothing of a picture, by its name; the first reason there was."""
        kept = {picture.name for picture in self.pictures}
        named = (skip for skip in reversed(self.skipped) if skip.name and skip.name not in kept)
        return {skip.name: skip.reason for skip in named}

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
        check_share(self.skipped, self.records, tolerance)
