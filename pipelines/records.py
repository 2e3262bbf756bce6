"""Readers: a folder of captioned pictures to records, and their split."""

import csv
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SPLITS = ("train", "dev", "test")
SPLIT_FILES = ("{split}.txt", "{split}_images.txt")


@dataclass(frozen=True)
class CaptionedPicture:
    """One picture and all its captions; `name` is what the caption file and split files call it."""

    name: str
    path: Path
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """A record that could not be used: where it stands and why."""

    file: Path
    line: int
    reason: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass
class CaptionFolder:
    """What was read from a folder."""

    pictures: list[CaptionedPicture]
    records: int
    skipped: list[Skipped] = field(default_factory=list)

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
        if len(self.skipped) > tolerance * self.records:
            listed = "\n  ".join(str(one) for one in self.skipped[:20])
            more = len(self.skipped) - 20
            raise ValueError(
                f"Expected at most {tolerance:.1%} unusable records. "
                f"Received: {len(self.skipped)} of {self.records}:\n  {listed}"
                + (f"\n  … and {more} more" if more > 0 else "")
            )


def read_caption_folder(
    folder,
    captions_file: str = "captions.csv",
    image_column: str = "image",
    caption_column: str = "caption",
    image_folder: str = "images",
) -> CaptionFolder:
    """Reads a CSV of picture names and captions; one row a caption.

    Args:
        folder: path. Holds the CSV and the pictures.
        captions_file: name of the CSV, UTF-8 with a header row.
        image_column: column with the picture's name, relative to `image_folder`.
        caption_column: column with the caption.
        image_folder: folder of the pictures, relative to `folder`.

    Returns:
        `CaptionFolder`; pictures in the order of the file, rows that cannot be used in `skipped`.

    Raises:
        ValueError: no such file, a missing column, not UTF-8, no CSV, or nothing usable.
    """
    folder = Path(folder)
    path = folder / captions_file
    if not path.is_file():
        raise ValueError(f"Expected a caption file at {path}. Received: no such file")
    captions: dict[str, list[str]] = defaultdict(list)
    skipped, records = [], 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            columns = reader.fieldnames or []
            missing = {image_column, caption_column} - set(columns)
            if missing:
                raise ValueError(
                    f"Expected columns {sorted(missing)} in {path}. Received: {columns}"
                )
            for row in reader:
                records += 1
                if None in row:  # DictReader's key for surplus columns.
                    reason = f"{len(columns) + len(row[None])} columns; a comma without quotes?"
                    skipped.append(Skipped(path, reader.line_num, reason))
                    continue
                name = (row[image_column] or "").strip()
                caption = " ".join((row[caption_column] or "").split())
                picture = folder / image_folder / name
                if reason := _unusable(folder, picture, name, caption):
                    skipped.append(Skipped(path, reader.line_num, reason))
                else:
                    captions[name].append(caption)
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected UTF-8 in {path}. Received: {error}") from error
    except csv.Error as error:  # A quote that is never closed, say, which would swallow rows.
        raise ValueError(
            f"Expected CSV in {path}. Received: {error}, after line {reader.line_num}"
        ) from error
    pictures = [
        CaptionedPicture(name, folder / image_folder / name, tuple(own))
        for name, own in captions.items()
    ]
    if not pictures:
        listed = "".join(f"\n  {one}" for one in skipped[:20])
        raise ValueError(f"Expected usable records in {path}. Received: none{listed}")
    return CaptionFolder(pictures, records, skipped)


def _unusable(folder, picture, name, caption):
    """The reason why a row cannot be used, or None."""
    if not caption:
        return "empty caption"
    if not name:
        return "no picture named"
    if not picture.resolve().is_relative_to(folder.resolve()):
        return f"the path {name!r} leads out of the folder"
    if not picture.is_file():
        return f"no picture at {picture}"
    return None


def split_pictures(
    folder, pictures: Sequence[CaptionedPicture], dev_share: float = 0.1, test_share: float = 0.1
) -> dict[str, list[CaptionedPicture]]:
    """Splits pictures into "train", "dev" and "test".

    Where the folder has split files (`train.txt` or `train_images.txt` and so on, one picture name
    a line), they decide; a picture in none of them is left out. Otherwise each picture goes where
    the SHA-256 of its bytes sends it: the same picture always to the same side, two files with
    the same bytes never to different sides.

    Args:
        folder: path.
        pictures: of `read_caption_folder`.
        dev_share: share of pictures, 0 to 1.
        test_share: share of pictures, 0 to 1.

    Returns:
        dict of the three lists; one without a split file is empty.

    Raises:
        ValueError: a split file names pictures that have no captions, two split files share a
            picture, or "train" or "dev" comes out empty.
    """
    listed = _listed_splits(Path(folder))
    if listed:
        split = _split_by_lists(listed, pictures)
    else:
        split = _split_by_bytes(pictures, dev_share, test_share)
    for name in ("train", "dev"):
        if not split[name]:
            raise ValueError(
                f"Expected at least one picture in the split {name!r} of {folder}. "
                f"Received: none of {len(pictures)}"
            )
    return split


def listed_pictures(path, pictures: Sequence[CaptionedPicture]) -> list[CaptionedPicture]:
    """The pictures that a split file names, in its order.

    Args:
        path: of the file, one picture name a line.
        pictures: of `read_caption_folder`.

    Raises:
        ValueError: no such file, or a name without captions, with its line.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"Expected a split file at {path}. Received: no such file")
    by_name, found = {picture.name: picture for picture in pictures}, []
    for line, name in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        name = name.strip()
        if name and name not in by_name:
            raise ValueError(
                f"Expected pictures that have captions. Received: {name!r} at {path}:{line}"
            )
        if name:
            found.append(by_name[name])
    return found


def _listed_splits(folder):
    """Split files of a folder: dict from split to path."""
    found = {}
    for split in SPLITS:
        paths = (folder / pattern.format(split=split) for pattern in SPLIT_FILES)
        found[split] = next((path for path in paths if path.is_file()), None)
    return {split: path for split, path in found.items() if path is not None}


def _split_by_lists(listed, pictures):
    split, seen = {name: [] for name in SPLITS}, {}
    for name, path in listed.items():
        split[name] = listed_pictures(path, pictures)
        for picture in split[name]:
            if picture.name in seen:
                raise ValueError(
                    f"Expected each picture in one split. Received: {picture.name!r} in "
                    f"{seen[picture.name]} and {path}"
                )
            seen[picture.name] = path
    return split


def _split_by_bytes(pictures, dev_share, test_share):
    if dev_share < 0 or test_share < 0 or dev_share + test_share >= 1:
        raise ValueError(
            "Expected shares >= 0 with a sum < 1. "
            f"Received: dev_share={dev_share}, test_share={test_share}"
        )
    split = {name: [] for name in SPLITS}
    places = {picture.path: _place(picture.path) for picture in pictures}
    for picture in pictures:
        place = places[picture.path]
        dev = place < dev_share
        test = dev_share <= place < dev_share + test_share
        split["dev" if dev else "test" if test else "train"].append(picture)
    if not split["dev"] and split["train"]:
        lowest = min(places[picture.path] for picture in split["train"])
        split["dev"] = [one for one in split["train"] if places[one.path] == lowest]
        split["train"] = [one for one in split["train"] if places[one.path] != lowest]
    return split


def _place(path):
    """A number in [0, 1) from the bytes of a file."""
    digest = hashlib.sha256(path.read_bytes()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
