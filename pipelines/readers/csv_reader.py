"""CSV and TSV with a header row; one row a record."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from pipelines.readers.record import Columns, Record, bytes_of, is_text, text_of

NEVER_CLOSED = "unexpected end of data"
"""What csv says where a quoted value runs to the end of the file."""


def header_of(text: str, delimiter: str) -> list[str]:
    """The column names in the first line; none where that is no CSV."""
    first = next(iter(io.StringIO(text, newline="")), "")
    try:
        return next(csv.reader([first], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def read_csv(path: Path, columns: Columns, delimiter: str = ",") -> Iterator[Record]:
    """Yields the records of a CSV (or TSV, by the delimiter).

    A row is named by the line where it starts. Values may be quoted, and then hold delimiters and
    line ends; after a row that cannot be understood reading goes on at the next line.

    Raises:
        ValueError: a column is missing, or a quote is open at the end, which may hold many rows.
    """
    lines = list(io.StringIO(text_of(bytes_of(path)), newline=""))
    rows = _rows(lines, delimiter, path)
    names: list[str] = next((row for _, row, _ in rows), [])
    if missing := columns.missing_of(names):
        raise ValueError(f"Expected a column {' and '.join(missing)} in {path}. Received: {names}")
    first, second = columns.first_of(names), columns.second_of(names)
    places = (names.index(first or ""), names.index(second or ""))
    for line, row, reason in rows:
        if not reason and len(row) > len(names):
            reason = f"{len(row)} values for {len(names)} columns; {delimiter!r} without quotes?"
        if not reason and not all(map(is_text, row)):
            reason = "not UTF-8"
        if reason:
            yield Record(line, reason=reason)
        elif row:
            name, text = (row[place] if place < len(row) else "" for place in places)
            yield Record(line, name, text)


def _rows(lines, delimiter, path):
    """(line, values, reason) of each row, blank lines left out."""
    start = 0
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
            start = begin + 1
