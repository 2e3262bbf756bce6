"""Names, bytes and lines of text files."""

import sys
from pathlib import Path

from keras_attn.text_file import (
    GZIP,
    bytes_of,
    check_text,
    encoded_lines,
    max_text_bytes,
    text_of,
)

SNIFFED = 2**20
"""How many bytes of a file tell its layout."""


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


def start_of(path: Path) -> str:
    """The text in the first SNIFFED bytes of a file; see `text_of`."""
    return text_of(bytes_of(path, SNIFFED))


def lines_of(path: Path) -> list[str]:
    """A text file's lines; see `bytes_of` and `lines_in`."""
    return lines_in(bytes_of(path))


def lines_in(data: bytes) -> list[str]:
    """The lines in a text, without their LF or CRLF; see `text_of`.

    They are decoded one by one: as a whole, a single emoji makes a text four times as large.
    """
    return [line.decode("utf-8", "surrogateescape") for line in encoded_lines(data)]
