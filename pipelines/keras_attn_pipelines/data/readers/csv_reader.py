"""CSV and TSV with a header row; one record per row."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from keras_attn.text_table import DECLARED, TAB, first_rows, header_and_rows, header_of
from keras_attn.untrusted import listed_texts
from keras_attn_pipelines.data.columns import GUESSED_FROM, Columns, text_places
from keras_attn_pipelines.data.record import Reader, Record
from keras_attn_pipelines.data.text_lines import start_of

FORMS = {",": "CSV", TAB: "TSV"}
WITHOUT_HEADER = "without a header"
OTHERS = (";", "|", ",", TAB)
"""Delimiters to try where the usual one separates no known columns."""


def delimiter_of(text: str, columns: Columns, usual: str) -> str:
    """The delimiter of a CSV (or TSV) by its first line: one under which no column is missing, or
    one that separates anything, the usual one first."""
    if declared := DECLARED.match(text):
        return declared[1]
    headers = {mark: header_of(text, mark) for mark in (usual, *OTHERS)}
    fitting = [mark for mark, names in headers.items() if not columns.missing_of(names)]
    return next(iter([*fitting, *(mark for mark in headers if len(headers[mark]) > 1), usual]))


def open_table(path: Path, columns: Columns, usual: str) -> tuple[str, Reader]:
    """The name of the format of a CSV or TSV, and its reader.

    Args:
        path: of the file.
        columns: of its records.
        usual: the delimiter, unless another one separates known columns.

    Raises:
        ValueError: a missing column.
    """
    text = start_of(path)
    delimiter = delimiter_of(text, columns, usual)
    header, *rows = first_rows(text, delimiter, GUESSED_FROM + 1) or [[]]
    form = FORMS.get(delimiter, f"CSV with {delimiter}")
    if columns.has_header(header, delimiter):
        columns = columns.with_numbered(header).settled(header, rows)
        columns.check(header, path)
        form = columns.form(form)
    else:
        columns = replace(columns, places=columns.places or text_places([header, *rows]))
        if not columns.places:
            raise ValueError(
                f"Expected two columns with texts in {path} (set --columns). Received: {header}"
            )
        places = " and ".join(map(str, columns.places))
        form = f"{form} {WITHOUT_HEADER}, columns {places} of {len(header)} (set --columns)"
    return form, partial(read_csv, path, columns, delimiter)


def read_csv(path: Path, columns: Columns, delimiter: str = ",") -> Iterator[Record]:
    """Yields the records of a CSV (or TSV, by the delimiter).

    A row's line is the one where it starts. CSV values may be quoted, and then contain delimiters
    and line ends; after a malformed row, reading continues at the next line. In a TSV, each line is
    a row and quotation marks are literal, unless the header is quoted or all cells that begin with
    a quotation mark are as a spreadsheet writes them. A list in the second field is several
    records.

    Raises:
        ValueError: a missing or duplicate column, or a quote that is never closed, which may span
            many rows.
    """
    names, rows = header_and_rows(path, delimiter)
    if not columns.has_header(names, delimiter):
        yield from _without_header(path, columns, names, itertools.chain([(1, names, "")], rows))
        return
    wanted = (columns.first_of(names) or "", columns.second_of(names) or "")
    if double := [name for name in wanted if names.count(name) > 1]:
        raise ValueError(f"Expected one column {double[0]!r} in {path}. Received: {names}")
    marks = columns.marks_of(names)
    places = [names.index(name) for name in (*wanted, *columns.more)]
    for line, row, reason in rows:
        if reason:
            yield Record(line, reason=reason)
        elif row:
            name, *cells = (row[place] if place < len(row) else "" for place in places)
            more = [cell for cell in cells[1:] if cell.strip()]
            try:
                texts = [text for cell in (cells[0], *more) for text in listed_texts(cell)]
            except ValueError as error:
                yield Record(line, reason=str(error))
                continue
            values = dict(zip(names, row)) if any(marks) else {}
            for text in texts:
                yield marks.marked(Record(line, name, text), values)


def _without_header(path, columns, first_row, rows):
    """The records of a table without a header, by the places of its columns."""
    places = columns.places
    if max(places) > len(first_row):
        raise ValueError(
            f"Expected columns {' and '.join(map(str, places))} in {path}. Received: "
            f"{len(first_row)} in the first line, {first_row}"
        )
    for line, row, reason in rows:
        if reason or len(row) < max(places):
            yield Record(line, reason=reason or f"{len(row)} values, without column {max(places)}")
        else:
            yield Record(line, *(row[place - 1] for place in places))
