"""Bytes and lines of text files, packed by gzip or not, within a limit of their size."""

import codecs
import gzip
import os
import re
from pathlib import Path

from keras_attn.untrusted import DamagedFileError, naming_damage

GZIP = ".gz"
MAX_TEXT_BYTES = "KERAS_ATTN_MAX_TEXT_BYTES"
"""Environment variable: the longest text file that is read, in bytes once unpacked."""
DEFAULT_MAX_TEXT_BYTES = 1 << 30
_GZIP_START = b"\x1f\x8b"
_SNIFFED = 4096


def bytes_of(path, most: int = -1) -> bytes:
    """A text file's bytes, or the first `most`; gzip is recognized by its magic number.

    Raises:
        ValueError: damaged or truncated gzip; more than `max_text_bytes`; UTF-16 or UTF-32,
            recognized by a byte order mark or, without one, by zeros in a quarter of the bytes or
            more.
        OSError: it cannot be read.
    """
    limit = max_text_bytes()
    wanted = most if most >= 0 else limit + 1
    with Path(path).open("rb") as plain:
        packed = plain.read(len(_GZIP_START)) == _GZIP_START
        plain.seek(0)
        if not packed:
            data = plain.read(wanted)
        else:
            with naming_damage(f"a whole gzip file at {path}"), gzip.open(plain) as file:
                data = file.read(wanted)
    check_text(data, limit, f"{path}, unpacked" if packed else path)
    return data


def utf8_text(path) -> str:
    """A text file's text, without its byte order mark; see `bytes_of`.

    Raises:
        ValueError: it is not UTF-8; with the line.
    """
    data = bytes_of(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"Expected UTF-8 at {path}:{line}. Received: {error.reason}, byte "
            f"0x{error.object[error.start]:02x}"
        ) from error


def check_text(data: bytes, limit: int, place) -> None:
    """Raises DamagedFileError for a text of more bytes than `limit`, or one in UTF-16 or UTF-32."""
    if len(data) > limit:
        raise DamagedFileError(
            f"Expected at most {limit} bytes in {place} (set {MAX_TEXT_BYTES} to read more). "
            "Received: more"
        )
    start = data[:_SNIFFED]
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (start and 4 * start.count(0) >= len(start)):
        raise DamagedFileError(f"Expected UTF-8 in {place}. Received: UTF-16 or UTF-32")


def max_text_bytes() -> int:
    """Longest text file that is read, in bytes once unpacked: 1 GiB, or what MAX_TEXT_BYTES says.

    Raises:
        ValueError: the environment variable is not a positive integer.
    """
    value = os.environ.get(MAX_TEXT_BYTES, str(DEFAULT_MAX_TEXT_BYTES))
    if not re.fullmatch("0*[1-9][0-9]{0,17}", value):
        raise ValueError(f"Expected {MAX_TEXT_BYTES} to be an integer >= 1. Received: {value!r}")
    return int(value)


def text_of(data: bytes) -> str:
    """Text without its byte order mark; bytes that are not UTF-8 become surrogates."""
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def encoded_lines(data: bytes) -> list[bytes]:
    """The lines in a text, without its byte order mark and without their LF or CRLF.

    Example:
        >>> encoded_lines(b"a\\r\\n\\nb")
        [b'a', b'', b'b']
    """
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def is_text(value: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in value)
