"""Records of two fields, which every reader yields, and the names of their columns."""

import codecs
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from keras_attn.text_file import GZIP, bytes_of, check_text, encoded_lines, max_text_bytes

AUTO = "auto"
MOST_WORDS = 50_000
MOST_CHARACTERS = 10 * MOST_WORDS
"""The same bound where there are no spaces."""
INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Me", "Mn", "Zl", "Zp", "Zs")
"""Unicode categories of characters that alone make no text, such as zero-width spaces."""
BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that show nothing: fillers of Hangul, and an empty pattern of Braille."""
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
TEXT_COLUMNS = (
    "text",
    "sentence",
    "review",
    "comment",
    "content",
    "document",
    "question",
    "headline",
    "title",
    "source",
    "input",
)
LABEL_COLUMNS = ("label", "labels", "class", "category", "class_name", "target")
TEXT_LABEL_COLUMNS = (*LABEL_COLUMNS, "sentiment", "topic", "intent")
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
    """The kinds of fields that a record has.

    Attributes:
        first: common column names of the first.
        second: common column names of the second.
        words: names of the two in messages.
        flags: flags of the command line that name the columns.
        integers: whether the second may be an integer where a format has them.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    words: tuple[str, str]
    flags: tuple[str, str]
    integers: bool = False


def _flags(*names):
    first, second = (f"--{name}-column" for name in names)
    return first, second


CAPTIONS = Known(
    IMAGE_COLUMNS, CAPTION_COLUMNS, ("picture named", "caption"), _flags("image", "caption")
)
LABELS = Known(IMAGE_COLUMNS, LABEL_COLUMNS, ("picture named", "label"), _flags("image", "label"))
TEXT_LABELS = Known(
    TEXT_COLUMNS, TEXT_LABEL_COLUMNS, ("text", "label"), _flags("text", "label"), integers=True
)
PAIRS = Known(SOURCE_COLUMNS, TARGET_COLUMNS, ("source", "target"), _flags("source", "target"))


@dataclass(frozen=True)
class Record:
    """A record of two fields, as in a file.

    Attributes:
        line: its line from 1, or 0 if unknown.
        first: name of the picture, or source text.
        second: caption or label, or target text.
        reason: why it is unusable, or ''.
    """

    line: int
    first: str = ""
    second: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Columns:
    """Columns or keys of the two fields of a record; "auto" tries the common names.

    If a file has several of the known names, the first in `known` is used.
    """

    first: str = AUTO
    second: str = AUTO
    known: Known = CAPTIONS

    def first_of(self, columns: Sequence[str]) -> str | None:
        """The column of the first field, or None."""
        return _chosen(self.first, self.known.first, columns)

    def second_of(self, columns: Sequence[str]) -> str | None:
        """The column of the second field, or None."""
        return _chosen(self.second, self.known.second, columns)

    def missing_of(self, columns: Sequence[str]) -> list[str]:
        """Description of the missing columns."""
        return [self.wanted()[place] for place in self._missing(columns)]

    def flags_of(self, columns: Sequence[str]) -> str:
        """The flags of the command line that name other columns for the missing ones."""
        return " and ".join(self.known.flags[place] for place in self._missing(columns))

    def _missing(self, columns):
        values = self.first_of(columns), self.second_of(columns)
        return [place for place, value in enumerate(values) if value is None]

    def wanted(self) -> tuple[str, str]:
        """Description of the expected columns."""
        first, second = self.known.first, self.known.second
        return _wanted(self.first, first), _wanted(self.second, second)


def input_bytes() -> bytes:
    """What standard input gives, as long as a file may be.

    Raises:
        ValueError: more than that, or UTF-16 or UTF-32.
    """
    limit = max_text_bytes()
    data = sys.stdin.buffer.read(limit + 1)
    check_text(data, limit, "standard input")
    return data


def suffix_of(path: Path) -> str:
    """A file's suffix in lower case; of a .gz file, the one before .gz."""
    plain = path.with_suffix("") if path.suffix.lower() == GZIP else path
    return plain.suffix.lower()


def stem_of(path: Path) -> str:
    """A file's name without its suffix, and without .gz."""
    return (path.with_suffix("") if path.suffix.lower() == GZIP else path).stem


def text_of(data: bytes) -> str:
    """Text without its byte order mark; bytes that are not UTF-8 become surrogates."""
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def lines_of(path: Path) -> list[str]:
    """A text file's lines; see `bytes_of` and `lines_in`."""
    return lines_in(bytes_of(path))


def lines_in(data: bytes) -> list[str]:
    """The lines in a text, without their LF or CRLF; see `text_of`.

    They are decoded one by one: as a whole, a single emoji makes a text four times as large.
    """
    return [line.decode("utf-8", "surrogateescape") for line in encoded_lines(data)]


def is_text(value: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def unusable(name: str, text: str) -> str:
    """Why a text cannot be used; empty if it can.

    Args:
        name: what messages call it.
        text: the text.
    """
    if len(text) > MOST_CHARACTERS:  # First, since it takes no time.
        return f"{name} of {len(text)} characters (expected at most {MOST_CHARACTERS})"
    if all(
        character in BLANKS or unicodedata.category(character) in INVISIBLE for character in text
    ):
        return f"empty {name}"
    words = len(text.split())
    if words > MOST_WORDS:
        return f"{name} of {words} words (expected at most {MOST_WORDS})"
    return ""


def _chosen(wanted, known, columns):
    if wanted != AUTO:
        return wanted if wanted in columns else None
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return next((plain[name] for name in known if name in plain), None)


def _wanted(wanted, known):
    return repr(wanted) if wanted != AUTO else f"one of {', '.join(known)}"
