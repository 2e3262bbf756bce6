"""What every reader yields: one caption of one picture, with its place; and names of columns."""

from collections.abc import Sequence
from dataclasses import dataclass

AUTO = "auto"
IMAGE_COLUMNS = (
    "image",
    "file_name",
    "filename",
    "file",
    "picture",
    "path",
    "image_path",
    "image_name",
    "photo",
)
CAPTION_COLUMNS = ("caption", "captions", "text", "description", "sentence")


@dataclass(frozen=True)
class Record:
    """One caption as it stands in a file.

    Attributes:
        line: where, from 1; 0 where no line is known.
        name: of the picture.
        caption: text.
        reason: why it cannot be used; empty where nothing speaks against it yet.
    """

    line: int
    name: str = ""
    caption: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Columns:
    """Which columns or keys hold the picture's name and the caption; "auto" knows several.

    Where a file has more than one of the known names, the first in IMAGE_COLUMNS or
    CAPTION_COLUMNS counts.
    """

    image: str = AUTO
    caption: str = AUTO

    def image_of(self, columns: Sequence[str]) -> str | None:
        """The column with the picture's name, or None."""
        return _chosen(self.image, IMAGE_COLUMNS, columns)

    def caption_of(self, columns: Sequence[str]) -> str | None:
        """The column with the caption, or None."""
        return _chosen(self.caption, CAPTION_COLUMNS, columns)

    def missing_of(self, columns: Sequence[str]) -> list[str]:
        """What is looked for and not there, in words."""
        missing = []
        if self.image_of(columns) is None:
            missing.append(_wanted(self.image, IMAGE_COLUMNS))
        if self.caption_of(columns) is None:
            missing.append(_wanted(self.caption, CAPTION_COLUMNS))
        return missing


def text_of(data: bytes) -> str:
    """Text without its byte order mark; bytes that are not UTF-8 stay marked, see `is_text`."""
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def is_text(value: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return not any("\ud800" <= one <= "\udfff" for one in value)


def _chosen(wanted, known, columns):
    if wanted != AUTO:
        return wanted if wanted in columns else None
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return next((plain[name] for name in known if name in plain), None)


def _wanted(wanted, known):
    return repr(wanted) if wanted != AUTO else f"one of {', '.join(known)}"
