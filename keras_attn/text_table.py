"""Rows of CSV and TSV, malformed ones included."""

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator

from keras_attn.text_file import bytes_of, is_text, text_of

TAB = "\t"
QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=[\t\r\n]|\Z)')
"""A quoted cell of a TSV."""
OPENING = re.compile(r'(?:\A|(?<=[\t\n]))"')
"""The place where a cell of a TSV begins with a quotation mark."""
NEEDS_QUOTES = re.compile(r'""|[\t\n]')
DECLARED = re.compile(r'(?i)\A"?sep=([^"\r\n])"?(\r?\n|\r)')
"""A first line by which Excel is told the delimiter."""
NEVER_CLOSED = "unexpected end of data"
"""Error message of `csv` for a quoted value that runs to the end of the file."""
MOST_REREAD = 50
"""How often, in the mean, a line may be read again after rows that are malformed."""


def header_of(text: str, delimiter: str) -> list[str]:
    """The column names in the first row; empty if it is not CSV."""
    return next(iter(first_rows(text, delimiter, 1)), [])


def first_rows(text: str, delimiter: str, count: int) -> list[list[str]]:
    """The first rows in a text, its header included, up to one that is malformed."""
    rows: list[list[str]] = []
    text = DECLARED.sub("", text)
    lines = io.StringIO(text, newline="")
    is_plain = _is_plain(text, delimiter)
    found = map(_fields, lines) if is_plain else csv.reader(lines, delimiter=delimiter, strict=True)
    with contextlib.suppress(csv.Error):
        for row in itertools.islice(found, count):
            rows.append(row)
    return [row for row in rows if row not in ([], [""])]


def header_and_rows(
    path, delimiter: str = ","
) -> tuple[list[str], Iterator[tuple[int, list[str], str]]]:
    """The column names of a CSV (or TSV, by the delimiter), and its rows.

    Returns:
        names: of the columns; empty for an empty file.
        rows: iterator of (line, values, reason), blank lines left out; the reason says why a row
            is malformed, or is ''.

    Raises:
        ValueError: a quote that is never closed; while the rows are read.
    """
    text = text_of(bytes_of(path))
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    lines = list(io.StringIO(text, newline=""))
    first = int(DECLARED.match(text) is not None)
    plain = _is_plain("".join(lines[first:]), delimiter)
    rows = _lines(lines, first) if plain else _rows(lines, delimiter, path, first)
    names: list[str] = next((row for _, row, _ in rows), [])
    return names, _checked_rows(rows, names, delimiter, plain)


def has_quoted_cells(text: str) -> bool:
    """Whether the cells of a TSV that begin with a quotation mark are quoted, as spreadsheets and
    pandas write them: all of them closed, and each with something inside that needs quotes.

    Example:
        >>> has_quoted_cells('"a ""b"" c"\\thi'), has_quoted_cells('"Hi!"\\tHello!')
        (True, False)
    """
    place, quoted = 0, False
    while opening := OPENING.search(text, place):
        cell = QUOTED.match(text, opening.start())
        if cell is None or not NEEDS_QUOTES.search(cell[1]):
            return False
        place, quoted = cell.end(), True
    return quoted


def _checked_rows(rows, names, delimiter, plain):
    for line, row, reason in rows:
        if not reason and len(row) > len(names):
            reason = f"{len(row)} values for {len(names)} columns"
            reason += "" if plain else f"; {delimiter!r} without quotes?"
        if not reason and not all(map(is_text, row)):
            reason = "not UTF-8"
        yield line, row, reason


def _is_plain(text, delimiter):
    """Whether a text is a TSV without quotes."""
    return delimiter == TAB and not text.startswith('"') and not has_quoted_cells(text)


def _fields(line):
    """The values of a TSV's line."""
    return line.rstrip("\r\n").split(TAB)


def _lines(lines, first):
    """Like `_rows`, for a TSV."""
    for number, line in enumerate(lines[first:], first + 1):
        if line.strip("\r\n"):
            yield number, _fields(line), ""


def _rows(lines, delimiter, path, first):
    """(line, values, reason) of each row from the first one on, blank lines left out."""
    start, reread = first, 0
    while start < len(lines):
        rest = (lines[index] for index in range(start, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, strict=True)
        begin = start
        try:
            for row in reader:
                if row:
                    yield begin + 1, row, ""
                begin = start + reader.line_num
            return
        except csv.Error as error:
            if str(error) == NEVER_CLOSED:
                raise ValueError(
                    f"Expected CSV in {path}. Received: a quote that is never closed, after line "
                    f"{begin}"
                ) from error
            yield begin + 1, [], f"malformed row: {error}"
            reread += start + reader.line_num - begin - 1
            if reread > MOST_REREAD * len(lines):
                raise ValueError(
                    f"Expected CSV in {path}. Received: quotes that do not pair up, such as from "
                    f"line {begin + 1} on"
                ) from error
            start = begin + 1
