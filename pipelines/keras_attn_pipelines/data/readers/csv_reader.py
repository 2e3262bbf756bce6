"""CSV and TSV with a header row; one record per row."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from keras_attn.text_file import bytes_of
from keras_attn_pipelines.data.record import Columns, Record, is_text, text_of

TAB = "\t"
NEVER_CLOSED = "unexpected end of data"
"""Error message of `csv` for a quoted value that runs to the end of the file."""
MOST_REREAD = 50
"""How often, in the mean, a line may be read again after rows that are malformed."""


def header_of(text: str, delimiter: str) -> list[str]:
    """The column names in the first line; empty if it is not CSV."""
    first = next(iter(io.StringIO(text, newline="")), "")
    if _is_plain(first, delimiter):
        return _fields(first)
    try:
        return next(csv.reader([first], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def read_csv(path: Path, columns: Columns, delimiter: str = ",") -> Iterator[Record]:
    """Yields the records of a CSV (or TSV, by the delimiter).

    A row's line is the one where it starts. CSV values may be quoted, and then contain delimiters
    and line ends; after a malformed row, reading continues at the next line. In a TSV without a
    quoted header, each line is a row and quotation marks are literal.

    Raises:
        ValueError: a missing or duplicate column, or a quote that is never closed, which may span
            many rows.
    """
    names, rows = header_and_rows(path, delimiter)
    if missing := columns.missing_of(names):
        raise ValueError(f"Expected a column {' and '.join(missing)} in {path}. Received: {names}")
    wanted = (columns.first_of(names) or "", columns.second_of(names) or "")
    if double := [name for name in wanted if names.count(name) > 1]:
        raise ValueError(f"Expected one column {double[0]!r} in {path}. Received: {names}")
    places = [names.index(name) for name in wanted]
    for line, row, reason in rows:
        if reason:
            yield Record(line, reason=reason)
        elif row:
            name, text = (row[place] if place < len(row) else "" for place in places)
            yield Record(line, name, text)


def header_and_rows(
    path: Path, delimiter: str = ","
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
    plain = _is_plain(lines[0] if lines else "", delimiter)
    rows = _lines(lines) if plain else _rows(lines, delimiter, path)
    names: list[str] = next((row for _, row, _ in rows), [])
    return names, _checked_rows(rows, names, delimiter, plain)


def _checked_rows(rows, names, delimiter, plain):
    for line, row, reason in rows:
        if not reason and len(row) > len(names):
            reason = f"{len(row)} values for {len(names)} columns"
            reason += "" if plain else f"; {delimiter!r} without quotes?"
        if not reason and not all(map(is_text, row)):
            reason = "not UTF-8"
        yield line, row, reason


def _is_plain(header, delimiter):
    """Whether a file with this header is a TSV without quotes."""
    return delimiter == TAB and not header.startswith('"')


def _fields(line):
    """The values of a TSV's line."""
    return line.rstrip("\r\n").split(TAB)


def _lines(lines):
    """Like `_rows`, for a TSV."""
    for number, line in enumerate(lines, 1):
        if line.strip("\r\n"):
            yield number, _fields(line), ""


def _rows(lines, delimiter, path):
    """(line, values, reason) of each row, blank lines left out."""
    start, reread = 0, 0
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
