"""Resolves the pictures that records name, and collects reasons for unusable ones."""

import functools
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.data_files import way_out
from keras_attn_pipelines.data.picture_folder import Picture, PictureFolder
from keras_attn_pipelines.data.record import AUTO, Record, in_language, unusable
from keras_attn_pipelines.data.skipped import Skipped


class Located(NamedTuple):
    """A record with the path of its picture.

    Attributes:
        file: file of the record.
        record: `Record`.
        path: path of the picture.
        reason: why it is unusable, or ''.
        digest: digest of the picture's bytes, see `Examined`.
        is_cut: whether the picture is cut short.
        converted: path of the PNG that it was converted to, or None.
    """

    file: Path
    record: Record
    path: Path
    reason: str
    digest: str = ""
    is_cut: bool = False
    converted: Path | None = None

    @property
    def source(self) -> Path:
        """The path that the picture is read from."""
        return self.converted or self.path

    @property
    def name(self) -> str:
        """The picture's name in the record."""
        return self.record.first.strip()

    def skipped(self, reason: str = "") -> Skipped:
        """The unusable record as `Skipped`, for its own reason or another."""
        return Skipped(self.file, self.record.line, reason or self.reason, self.name)


class FoundRecords(NamedTuple):
    """Where records of pictures are.

    Attributes:
        folder: path of the data folder.
        images: path of the folder of the pictures.
        records: the records, each with its file; they are read as they are asked for.
        source: path of the file, or of the folder, of the records.
        form: description of the format.
        left_out: names of files of test that have no second field.
    """

    folder: Path
    images: Path
    records: Iterable[tuple[Path, Record]]
    source: Path
    form: str
    left_out: Sequence[str] = ()


def located(found: FoundRecords, second: str, language: str = AUTO, cache=None) -> list[Located]:
    """Finds and examines the pictures of records, see `examine_pictures`.

    Args:
        found: `FoundRecords`. Pictures must be in the folder of the pictures or in the data folder.
        second: what messages call a record's second field, such as "caption".
        language: see `in_language`.
        cache: folder of cached picture checks; in the user's cache if None.
    """
    locate = locator(found.folder, found.images)
    rows = []
    for file, record in in_language(found.records, language, found.source):
        path, problem = locate(record.first.strip())
        reason = record.reason or unusable(second, record.second) or problem
        rows.append(Located(file, record, path, reason))
    from keras_attn_pipelines.data.converted_pictures import convert_pictures
    from keras_attn_pipelines.data.picture_check import examine_pictures

    examined = examine_pictures((row.path for row in rows if not row.reason), found.folder, cache)
    converted = convert_pictures(examined, cache)
    return [
        row if row.reason else _examined(row, *converted.get(row.path, (None, examined[row.path])))
        for row in rows
    ]


def folder_of(
    found: FoundRecords,
    pictures: list[Picture],
    count: int,
    skipped: list[Skipped],
    used: Iterable[Located],
) -> PictureFolder[Picture]:
    """The contents of a data folder.

    Args:
        found: where its records are.
        pictures: of usable records.
        count: number of records.
        skipped: unusable ones.
        used: a record of each picture.
    """
    rows = list(used)
    splits = {row.name: row.record.split for row in rows}
    cut = frozenset(row.name for row in rows if row.is_cut)
    return PictureFolder(
        pictures,
        count,
        skipped,
        found.source,
        found.form,
        splits,
        cut,
        root=found.folder,
        left_out=found.left_out,
    )


def _examined(row, converted, examined):
    """A record with the result of checking its picture, and with the PNG made of it."""
    reason = examined.reason and f"the picture {row.path} is unusable: {examined.reason}"
    is_cut = examined.missing > 0
    return row._replace(reason=reason, digest=examined.digest, is_cut=is_cut, converted=converted)


def other_split(first: Located, row: Located) -> str:
    """Why a record contradicts an earlier one of the same picture; '' if it does not."""
    if row.record.split == first.record.split:
        return ""
    return f"the split {row.record.split!r} for a picture of {first.record.split!r}"


def locator(folder: Path, images: Path):
    """Function from the name of a picture to its path, and to the reason why it is unusable.

    Dot segments, backslashes, upper and lower case and Unicode's normal forms make no difference
    where a file has no name that is equal to the letter.

    Args:
        folder: data folder.
        images: folder of the pictures.
    """
    spelled = functools.cache(_spellings)

    def path_of(name):
        return _path_of((images, folder), name, spelled)

    return functools.cache(path_of)


def identity(path: Path) -> str:
    """What two paths to the same entry of a folder have in common; links count as they are."""
    return os.path.abspath(path)


def _spellings(folder):
    """The names in a folder by what they have in common with other spellings."""
    names: dict[str, list[str]] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        names.setdefault(folded(entry.name), []).append(entry.name)
    return names


def folded(name: str) -> str:
    """What all spellings of a name in upper and lower case and normal forms have in common."""
    return unicodedata.normalize("NFC", name).casefold()


def _spelled_otherwise(folder, name, spelled) -> Path | None:
    """The only file of another spelling; None if there is none.

    Raises:
        ValueError: there are several.
    """
    path = folder
    for part in name.replace("\\", "/").split("/"):
        if part in ("", ".", ".."):
            path = path / part
            continue
        others = [part] if os.path.lexists(path / part) else spelled(path).get(folded(part), [])
        if len(others) > 1:
            raise ValueError(f"it may be {' or '.join(sorted(others))}")
        if not others:
            return None
        path = path / others[0]
    return path if path.is_file() else None


def _path_of(folders: Sequence[Path], name, spelled):
    """The path of a picture by its name, and the reason it is unusable."""
    images, folder = folders
    path = images / name
    if not name:
        return path, "no picture named"
    try:
        exact = (place / name for place in folders)
        path = next((candidate for candidate in exact if candidate.is_file()), path)
        if not path.is_file():
            others = (_spelled_otherwise(place, name, spelled) for place in folders)
            path = next(filter(None, others), path)
        if not path.is_file() and not Path(name).suffix:  # An id without its suffix.
            own = [images / f"{name}{suffix}" for suffix in PICTURE_SUFFIXES]
            found = [candidate for candidate in own if candidate.is_file()]
            path = found[0] if len(found) == 1 else path
        if reason := way_out(path, folder):
            return path, f"the path {name!r} is {reason}"
        return path, "" if path.is_file() else f"no picture at {path}"
    except (OSError, RuntimeError, ValueError) as error:
        return path, f"no picture at {name!r:.80}: {error}"
