"""What every reader yields: a record of two things, with its place; and names of columns."""

import codecs
import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

AUTO = "auto"
GZIP = ".gz"
GZIP_START = b"\x1f\x8b"
SNIFFED = 4096
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


SOURCE_COLUMNS = (
    "source",
    "src",
    "input",
    "question",
    "prompt",
    "article",
    "document",
    "text",
)
LABEL_COLUMNS = ("label", "labels", "class", "category", "class_name", "target")
TARGET_COLUMNS = (
    "target",
    "tgt",
    "output",
    "answer",
    "response",
    "summary",
    "highlights",
    "translation",
    "paraphrase",
)


class Known(NamedTuple):
    """Two things that belong together in a record.

    Attributes:
        first: usual column names of the first.
        second: usual column names of the second.
        words: what messages call the two.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    words: tuple[str, str]


CAPTIONS = Known(IMAGE_COLUMNS, CAPTION_COLUMNS, ("picture named", "caption"))
LABELS = Known(IMAGE_COLUMNS, LABEL_COLUMNS, ("picture named", "label"))
PAIRS = Known(SOURCE_COLUMNS, TARGET_COLUMNS, ("source", "target"))


@dataclass(frozen=True)
class Record:
    """Two things that belong together, as they stand in a file.

    Attributes:
        line: where, from 1; 0 where no line is known.
        first: name of the picture, or source text.
        second: caption or label, or target text.
        reason: why it cannot be used; empty where nothing speaks against it yet.
    """

    line: int
    first: str = ""
    second: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Columns:
    """Which columns or keys hold the two things of a record; "auto" knows several names.

    Where a file has more than one of the known names, the first of them in `known` counts.
    """

    first: str = AUTO
    second: str = AUTO
    known: Known = CAPTIONS

    def first_of(self, columns: Sequence[str]) -> str | None:
        """The column with the first thing, or None."""
        return _chosen(self.first, self.known.first, columns)

    def second_of(self, columns: Sequence[str]) -> str | None:
        """The column with the second thing, or None."""
        return _chosen(self.second, self.known.second, columns)

    def missing_of(self, columns: Sequence[str]) -> list[str]:
        """What is looked for and not there, in words."""
        columns_found = self.first_of(columns), self.second_of(columns)
        return [words for words, value in zip(self.wanted(), columns_found) if value is None]

    def wanted(self) -> tuple[str, str]:
        """What is looked for, in words."""
        first, second = self.known.first, self.known.second
        return _wanted(self.first, first), _wanted(self.second, second)


def bytes_of(path: Path, most: int = -1) -> bytes:
    """A file's bytes, or the first few; gzip is known by its first bytes, and unpacked.

    Raises:
        ValueError: gzip that is damaged or cut off; UTF-16 or UTF-32 by its first bytes. Without a
            byte order mark, that is known by zeros, one in four bytes or more.
    """
    try:
        with path.open("rb") as plain:
            packed = plain.read(len(GZIP_START)) == GZIP_START
            plain.seek(0)
            with gzip.open(plain) if packed else plain as file:
                data = file.read(most)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"Expected a whole gzip file at {path}. Received: {error}") from error
    check_utf8(data, path)
    return data


def check_utf8(data: bytes, path) -> None:
    """Raises ValueError where bytes look like UTF-16 or UTF-32, not like text in UTF-8."""
    start = data[:SNIFFED]
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (start and 4 * start.count(0) >= len(start)):
        raise ValueError(f"Expected UTF-8 in {path}. Received: UTF-16 or UTF-32")


def suffix_of(path: Path) -> str:
    """A file's suffix in lower case, that before .gz where there is one."""
    plain = path.with_suffix("") if path.suffix.lower() == GZIP else path
    return plain.suffix.lower()


def text_of(data: bytes) -> str:
    """Text without its byte order mark; bytes that are not UTF-8 stay marked, see `is_text`."""
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def is_text(value: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _chosen(wanted, known, columns):
    if wanted != AUTO:
        return wanted if wanted in columns else None
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return next((plain[name] for name in known if name in plain), None)


def _wanted(wanted, known):
    return repr(wanted) if wanted != AUTO else f"one of {', '.join(known)}"
