"""CSV and TSV with a header row; one record per row."""

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from keras_attn.text_file import bytes_of
from keras_attn.untrusted import listed_texts
from keras_attn_pipelines.data.columns import GUESSED_FROM, LANGUAGE, NO_TEXT, Columns
from keras_attn_pipelines.data.record import Reader, Record
from keras_attn_pipelines.data.text_lines import is_text, start_of, text_of

TAB = "\t"
FORMS = {",": "CSV", TAB: "TSV"}
WITHOUT_HEADER = "without a header"
OTHERS = (";", "|", ",", TAB)
"""Delimiters to try where the usual one separates no known columns."""
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


def header_of(text: str, delimiter: str) -> list[str]:
    """The column names in the first row; empty if it is not CSV."""
    return next(iter(first_rows(text, delimiter, 1)), [])


def first_rows(text: str, delimiter: str, count: int) -> list[list[str]]:
    """The first rows in a text, its header included, up to one that is malformed."""
    rows: list[list[str]] = []
    text = DECLARED.sub("", text)
    lines = io.StringIO(text, newline="")
    with contextlib.suppress(csv.Error):
        if _is_plain(text, delimiter):
            rows += ([*_fields(line)] for line in itertools.islice(lines, count))
        else:
            rows += itertools.islice(csv.reader(lines, delimiter=delimiter, strict=True), count)
    return [row for row in rows if row not in ([], [""])]


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


def text_places(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """The first two columns, from 1, of rows without a header that have texts: other ones have only
    numbers, languages, or terms of use as Tatoeba's; () if there are no two.

    Example:
        >>> text_places([["1276", "Go.", "18", "Va !", "CC-BY 2.0"]])
        (2, 4)
    """
    cells = {
        place: [row[place - 1].strip() for row in rows if place <= len(row)]
        for place in range(1, len(rows[0]) + 1)
    }
    texts = [
        place
        for place, own in cells.items()
        if not all(map(NO_TEXT.fullmatch, own)) and not all(map(LANGUAGE.fullmatch, own))
    ]
    return tuple(texts[:2]) if len(texts) > 1 else (1, 2) if len(cells) == 2 else ()


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
