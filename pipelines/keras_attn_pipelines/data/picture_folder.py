"""The contents of a data folder: pictures with captions or labels, and the skipped records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from keras_attn_pipelines.data.skipped import Skipped, check_share


@dataclass(frozen=True)
class CaptionedPicture:
    """One picture and all its captions.

    Attributes:
        name: its name in the caption file and in split files.
        path: path of the file, or of the PNG that it was converted to.
        captions: of the picture.
        digest: SHA-256 of the original file's bytes in hexadecimal.
    """

    name: str
    path: Path
    captions: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class LabeledPicture:
    """One picture and its class.

    Attributes:
        name: its name in the labels file and in split files, or its path in the data folder.
        path: path of the file, or of the PNG that it was converted to.
        label: label of its class.
        digest: SHA-256 of the original file's bytes in hexadecimal.
    """

    name: str
    path: Path
    label: str
    digest: str


Picture = TypeVar("Picture", CaptionedPicture, LabeledPicture)


@dataclass
class PictureFolder(Generic[Picture]):
    """The records of a folder.

    Attributes:
        pictures: list of `CaptionedPicture` or `LabeledPicture`.
        records: number of records (captions or labels), unusable ones included.
        skipped: list of `Skipped`, the unusable ones.
        source: the caption or labels file, or the folder if there is none.
        form: description of the format.
        splits: split of each picture by its name, where the records say so; '' for none.
        cut: names of pictures that are cut short and read all the same.
        root: the data folder; None for that of `source`.
        left_out: names of files of test that are left out.
    """

    pictures: list[Picture]
    records: int
    skipped: list[Skipped] = field(default_factory=list)
    source: Path = Path()
    form: str = ""
    splits: Mapping[str, str] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    root: Path | None = None
    left_out: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        """The data folder, with lists of splits if there are any."""
        return self.root or (self.source if self.source.is_dir() else self.source.parent)

    @property
    def unusable(self) -> dict[str, str]:
        """Why each skipped picture is missing, by name; the first reason if there are several."""
        kept = {picture.name for picture in self.pictures}
        named = (skip for skip in reversed(self.skipped) if skip.name and skip.name not in kept)
        return {skip.name: skip.reason for skip in named}

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
        check_share(self.skipped, self.records, tolerance)
