"""Detects the format of a file of records by its name and content."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from keras_attn.text_file import bytes_of
from keras_attn.untrusted import DamagedFileError, parse_json
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.readers.csv_reader import header_of, read_csv
from keras_attn_pipelines.data.readers.json_reader import (
    is_coco,
    load_json,
    members_of,
    read_json,
    read_jsonl,
)
from keras_attn_pipelines.data.readers.text_reader import is_token_file, read_tokens
from keras_attn_pipelines.data.record import Columns, Record, suffix_of, text_of

DELIMITERS = {".csv": (",", "CSV"), ".tsv": ("\t", "TSV")}
LINES = (".jsonl", ".ndjson")
TEXTS = (".txt", ".token")
SUFFIXES = (*DELIMITERS, *LINES, *TEXTS, ".json")
SNIFFED = 2**20

Reader = Callable[[], Iterator[Record]]
Found = tuple[Path, str, Reader]


def form_of(path: Path, columns: Columns) -> tuple[str, Reader]:
    """The name of a file's format, and its reader.

    Raises:
        ValueError: not a file of records.
    """
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        delimiter, name = DELIMITERS[suffix]
        _check(columns, header_of(_start(path), delimiter), path)
        return name, partial(read_csv, path, columns, delimiter)
    if suffix in LINES:
        return "JSON lines", partial(read_jsonl, path, columns)
    if suffix == ".json":
        return _json_form(path, columns)
    return _text_form(path, columns)


def record_files(
    paths: Iterable[Path], folders: Sequence[Path], columns: Columns
) -> tuple[list[Found], dict[Path, str]]:
    """The files of records, each with its format and reader, and why other files are not.

    Plain text can be anything, so it needs no reason but damage.

    Args:
        paths: of files.
        folders: in which they lie.
        columns: of the records.
    """
    files: list[Found] = []
    refused: dict[Path, str] = {}
    for path in paths:
        try:
            form, read = form_of(check_inside(path, *folders), columns)
        except ValueError as error:
            if path.suffix.lower() not in TEXTS or isinstance(error, DamagedFileError):
                refused[path] = str(error)
            continue
        if shows_records(path, columns):
            files.append((path, form, read))
        else:
            words = " and a ".join(word.split()[0] for word in columns.known.words)
            refused[path] = f"no line of {path} has a {words}"
    return files, refused


def shows_records(path: Path, columns: Columns) -> bool:
    """Whether a JSON lines file has a record near its start; True for other formats."""
    if suffix_of(path) not in LINES:
        return True
    members = (members_of(value, columns) for value in _objects(path))
    return any(not columns.missing_of(list(value)) for value in members)


def first_shown(path: Path) -> str:
    """The beginning of the first object in a JSON lines file."""
    value = next(_objects(path), None)
    return "no JSON object" if value is None else f"{json.dumps(value, ensure_ascii=False):.120}"


def _objects(path):
    """The JSON objects near the start of a JSON lines file."""
    for line in _start(path).split("\n"):
        try:
            value = parse_json(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _json_form(path, columns):
    value = load_json(path)
    if is_coco(value):
        return "COCO captions", partial(read_json, value, columns)
    records = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    if not any(not columns.missing_of(list(record)) for record in records):
        raise ValueError(
            f"Expected COCO captions or a list of objects with a picture and captions in {path}. "
            f"Received: {json.dumps(value):.80}"
        )
    return "JSON records", partial(read_json, value, columns)


def _text_form(path, columns):
    text = _start(path)
    if is_token_file(text):
        return "Flickr8k tokens", partial(read_tokens, path)
    for delimiter, name in DELIMITERS.values():
        if not columns.missing_of(header_of(text, delimiter)):
            return name, partial(read_csv, path, columns, delimiter)
    raise ValueError(
        f"Expected lines of picture#number, a tab and a caption, or a CSV, in {path}. "
        f"Received: {text.split(chr(10), 1)[0]!r:.80}"
    )


def _check(columns, names, path):
    if missing := columns.missing_of(names):
        raise ValueError(
            f"Expected a column {' and '.join(missing)} in {path} (set {columns.flags_of(names)}). "
            f"Received: {names}"
        )


def _start(path):
    return text_of(bytes_of(path, SNIFFED))
