"""Resolves the pictures that records name, and collects reasons for unusable ones."""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from keras_attn_pipelines.data.data_files import way_out
from keras_attn_pipelines.data.record import Record, unusable
from keras_attn_pipelines.data.skipped import Skipped


class Located(NamedTuple):
    """A record with the path of its picture.

    Attributes:
        file: file of the record.
        record: `Record`.
        path: path of the picture.
        reason: why it is unusable, or ''.
        digest: digest of the picture's bytes, see `Examined`.
    """

    file: Path
    record: Record
    path: Path
    reason: str
    digest: str = ""

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
    """

    folder: Path
    images: Path
    records: Iterable[tuple[Path, Record]]
    source: Path
    form: str


def located(
    records: Iterable[tuple[Path, Record]], folder: Path, images: Path, second: str, cache=None
) -> list[Located]:
    """Finds and examines the pictures of records, see `examine_pictures`.

    Args:
        records: pairs (file, record).
        folder: data folder. Pictures must be in `images` or in this folder.
        images: folder of the pictures.
        second: what messages call a record's second field, such as "caption".
        cache: folder of cached picture checks; in the user's cache if None.
    """
    locate = functools.cache(functools.partial(_path_of, folder, images))
    rows = []
    for file, record in records:
        path, problem = locate(record.first.strip())
        reason = record.reason or unusable(second, record.second) or problem
        rows.append(Located(file, record, path, reason))
    from keras_attn_pipelines.data.picture_check import examine_pictures

    examined = examine_pictures((row.path for row in rows if not row.reason), folder, cache)
    return [row if row.reason else _examined(row, examined[row.path]) for row in rows]


def _examined(row, examined):
    """A record with the result of checking its picture."""
    reason = examined.reason and f"the picture {row.path} is unusable: {examined.reason}"
    return row._replace(reason=reason, digest=examined.digest)


def _path_of(folder, images, name):
    """The path of a picture by its name, and the reason it is unusable."""
    path = images / name
    if not name:
        return path, "no picture named"
    try:
        path = next((candidate for candidate in (path, folder / name) if candidate.is_file()), path)
        if reason := way_out(path, folder):
            return path, f"the path {name!r} is {reason}"
        return path, "" if path.is_file() else f"no picture at {path}"
    except (OSError, RuntimeError, ValueError) as error:
        return path, f"no picture at {name!r:.80}: {error}"
