"""Detects the format of a file of records by its name and content."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from keras_attn.text_file import bytes_of
from keras_attn.text_table import TAB
from keras_attn_pipelines.data.columns import (
    IMAGE_COLUMNS,
    PAIRS,
    TEXT_LABELS,
    Columns,
    NoSecondError,
)
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.readers.csv_reader import open_table
from keras_attn_pipelines.data.readers.json_reader import open_json, open_lines
from keras_attn_pipelines.data.readers.text_reader import LABEL, NoRecordsError, open_text
from keras_attn_pipelines.data.readers.tmx_reader import TMX, open_tmx
from keras_attn_pipelines.data.record import Reader
from keras_attn_pipelines.data.split_names import split_in
from keras_attn_pipelines.data.text_lines import start_of, stem_of, suffix_of

Opener = Callable[[Path, Columns], tuple[str, Reader]]
"""Function from a file's path and the columns of its records to the name of its format and its
reader; raises ValueError if it has no records.
"""
DELIMITERS = {".csv": ",", ".tsv": TAB}
LINES = (".jsonl", ".ndjson")
TEXTS = (".txt", ".token")
OPENERS: dict[str, Opener] = {
    **{suffix: partial(open_table, usual=mark) for suffix, mark in DELIMITERS.items()},
    **dict.fromkeys(LINES, open_lines),
    ".json": open_json,
    TMX: open_tmx,
}
"""By suffix; all other files are opened as text."""
TABLES = (*DELIMITERS, *LINES, ".json")
SUFFIXES = (*TABLES, *TEXTS)
SAMPLE = re.compile(r"sample_?submission.*", re.IGNORECASE)
"""Names of files with made-up answers, which Kaggle puts beside its data."""
Found = tuple[Path, str, Reader]


class RecordFiles(NamedTuple):
    """Files of records.

    Attributes:
        files: paths, each with its format and reader.
        refused: why other files are none.
        left_out: names of those of test that are left out, since they have no second field.
        are_guessed: whether their columns are guessed.
    """

    files: list[Found]
    refused: dict[Path, str]
    left_out: list[str]
    are_guessed: bool


def is_table(path: Path, columns: Columns) -> bool:
    """Whether a file of another suffix than those of OPENERS has records, as its start shows."""
    if columns.known is TEXT_LABELS:
        return bytes_of(path, len(LABEL)) == LABEL.encode()
    has_tabs = suffix_of(path) == ".txt" and TAB in start_of(path).split("\n", 1)[0]
    return columns.known is PAIRS and (suffix_of(path) == TMX or has_tabs)


def form_of(path: Path, columns: Columns) -> tuple[str, Reader]:
    """The name of a file's format, and its reader.

    Raises:
        ValueError: not a file of records.
    """
    return OPENERS.get(suffix_of(path), open_text)(path, columns)


def record_files(paths: Iterable[Path], folders: Collection[Path], columns: Columns) -> RecordFiles:
    """The files of records among some files. Columns are guessed where no file has known ones.

    Plain text can be anything, so it needs no reason but damage to be left out.

    Args:
        paths: of files.
        folders: in which they lie.
        columns: of the records.
    """
    paths = [path for path in paths if not SAMPLE.fullmatch(path.name)]
    found = _record_files(paths, folders, columns)
    return found if found.files else _record_files(paths, folders, replace(columns, guesses=True))


def _record_files(paths, folders, columns):
    found = RecordFiles([], {}, [], columns.guesses)
    for path in paths:
        try:
            found.files.append((path, *form_of(check_inside(path, *folders), columns)))
        except NoRecordsError:
            continue
        except ValueError as error:
            if isinstance(error, NoSecondError) and _is_of_test(path, columns):
                found.left_out.append(path.name)
            else:
                found.refused[path] = str(error)
    return found


def _is_of_test(path, columns):
    """Whether a file is named for test, and pictures that it names are in a folder of their own:
    others may be those of train."""
    folders = (entry.name for entry in path.parent.iterdir() if entry.is_dir())
    has_own = columns.known.first is not IMAGE_COLUMNS or "test" in map(split_in, folders)
    return split_in(stem_of(path)) == "test" and has_own
