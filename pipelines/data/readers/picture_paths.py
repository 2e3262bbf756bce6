"""Records that name pictures, with the paths of these, and why some cannot be used."""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from keras_attn_pipelines.data.picture_check import examine_pictures
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.skipped import Skipped


class Located(NamedTuple):
    """A record and its picture.

    Attributes:
        file: that holds the record.
        record: `Record`.
        path: of the picture.
        reason: why it cannot be used; empty where it can.
        digest: of the picture's bytes, see `Examined`.
    """

    file: Path
    record: Record
    path: Path
    reason: str
    digest: str = ""

    @property
    def name(self) -> str:
        """What the record calls its picture."""
        return self.record.first.strip()

    def skipped(self, reason: str = "") -> Skipped:
        """It as a record that cannot be used, for its own reason or another."""
        return Skipped(self.file, self.record.line, reason or self.reason, self.name)


def located(
    records: Iterable[tuple[Path, Record]], folder: Path, images: Path, empty: str, cache=None
) -> list[Located]:
    """Finds the pictures of records and examines them all, see `examine_pictures`.

    Args:
        records: (file, record) of each.
        folder: of the data. Pictures stand in `images` or here, and never outside.
        images: folder of the pictures.
        empty: reason of a record whose second thing is blank.
        cache: folder of what is known of pictures; in the user's cache if None.
    """
    roots = folder.resolve(), images.resolve()
    locate = functools.cache(functools.partial(_path_of, folder, images, roots))
    rows = []
    for file, record in records:
        path, problem = locate(record.first.strip())
        reason = record.reason or ("" if record.second.split() else empty) or problem
        rows.append(Located(file, record, path, reason))
    examined = examine_pictures((row.path for row in rows if not row.reason), folder, cache)
    return [row if row.reason else _examined(row, examined[row.path]) for row in rows]


def _examined(row, examined):
    """A record with what is known of its picture."""
    reason = examined.reason and f"the picture {row.path} is unusable: {examined.reason}"
    return row._replace(reason=reason, digest=examined.digest)


def _path_of(folder, images, roots, name):
    """The path of a picture by its name, and the reason why it cannot be used."""
    path = images / name
    if not name:
        return path, "no picture named"
    try:
        path = next((candidate for candidate in (path, folder / name) if candidate.is_file()), path)
        resolved = path.resolve()
        if not any(resolved.is_relative_to(root) for root in roots):
            return path, f"the path {name!r} leads out of the folder"
        return path, "" if path.is_file() else f"no picture at {path}"
    except (OSError, RuntimeError, ValueError) as error:
        return path, f"no picture at {name!r:.80}: {error}"
