"""Reads pairs of texts from a data folder, a file or a named data set."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.pairs import PairFile, collected
from keras_attn_pipelines.data.readers.forms import (
    DELIMITERS,
    LINES,
    first_shown,
    form_of,
    shows_records,
)
from keras_attn_pipelines.data.readers.parallel_reader import (
    languages,
    parallel_files,
    read_parallel,
)
from keras_attn_pipelines.data.readers.tfds_reader import is_tfds, materialized_texts
from keras_attn_pipelines.data.record import AUTO, PAIRS, Columns, Record, stem_of, suffix_of
from keras_attn_pipelines.data.split_names import check_named_splits

TABLES = (*DELIMITERS, *LINES)


class PairSource(NamedTuple):
    """A file of pairs, or two parallel ones.

    Attributes:
        path: path of the file, or of the one with the sources.
        form: description of the format.
        records: function that yields its records.
        words: names of the two texts in messages.
    """

    path: Path
    form: str
    records: Callable[[], Iterator[Record]]
    words: tuple[str, str] = PAIRS.words

    def read(self) -> PairFile:
        """Reads its pairs.

        Raises:
            ValueError: as the readers do, or nothing usable.
        """
        return collected(self.path, self.form, self.records(), self.words)


def pair_sources(
    data, source_column: str = AUTO, target_column: str = AUTO
) -> dict[str, PairSource]:
    """Finds pairs of texts in any of these formats.

    Parallel text files, `train.en` and `train.de`, one text per line; CSV or TSV with a header;
    JSON lines, also with both texts under "translation", or with a list of targets. Each plain or
    .gz, UTF-8, with or without byte order mark.

    Args:
        data: path of a data folder or of one such file, or "tfds:NAME[/CONFIG]".
        source_column: suffix, column or key of the source; "auto" knows usual columns.
        target_column: likewise for the target.

    Returns:
        dict from the stem of a file's name ("train") to its `PairSource`.

    Raises:
        ValueError: nothing found, parallel files without named languages, or one column for both.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    if source_column == target_column != AUTO:
        raise ValueError(
            "Expected a source_column and a target_column that differ. "
            f"Received: {source_column!r} twice"
        )
    columns = Columns(source_column, target_column, PAIRS)
    folder = text_folder(data)
    if folder.is_file():
        return _one_file(folder, columns)
    if not folder.is_dir():
        raise ValueError(f"Expected pairs of texts at {folder}. Received: no such file or folder")
    tables, refused = tables_in(folder, columns)
    if AUTO not in (source_column, target_column):
        parallel, alone = parallel_files(folder, source_column, target_column)
        for path in (path for files in parallel.values() for path in files):
            check_inside(path, folder)
        tables = {stem: _parallel(*files) for stem, files in parallel.items()} | tables
        refused |= alone
    if not tables:
        raise ValueError(_no_pairs(folder, columns, refused))
    check_named_splits(folder, tables, refused)
    return tables


def text_folder(data) -> Path:
    """The folder or file of `data`; of a named data set, the folder it is written to."""
    return materialized_texts(str(data)) if is_tfds(data) else Path(data)


def table_at(path: Path, columns: Columns) -> PairSource:
    """The `PairSource` of one table.

    Raises:
        ValueError: a missing column.
    """
    form, read = form_of(path, columns)
    return PairSource(path, form, read, columns.known.words)


def _one_file(path, columns):
    """The source in one file, or in a parallel file and its partner."""
    if suffix_of(path) in TABLES:
        return {stem_of(path): table_at(path, columns)}
    both, _ = parallel_files(path.parent, columns.first, columns.second)
    if stem_of(path) in both and AUTO not in (columns.first, columns.second):
        for partner in set(both[stem_of(path)]) - {path}:
            check_inside(partner, path.parent)
        return {stem_of(path): _parallel(*both[stem_of(path)])}
    raise ValueError(
        f"Expected a file of {', '.join(TABLES)}, or one of two parallel files whose suffixes are "
        f"source_column and target_column. Received: {path} with source_column={columns.first!r}, "
        f"target_column={columns.second!r}"
    )


def _parallel(source, target):
    return PairSource(
        source, f"parallel text with {target.name}", partial(read_parallel, source, target)
    )


def tables_in(folder: Path, columns: Columns) -> tuple[dict[str, PairSource], dict[Path, str]]:
    """`PairSource`s of the tables in a folder by stem, and why other files are not tables."""
    tables: dict[str, PairSource] = {}
    refused: dict[Path, str] = {}
    for path in sorted(folder.iterdir(), reverse=True):
        if suffix_of(path) not in TABLES or not path.is_file():
            continue
        try:
            table = table_at(check_inside(path, folder), columns)
        except ValueError as error:
            refused[path] = str(error)
            continue
        if shows_records(path, columns):
            other = tables.get(stem_of(path))
            if other is not None and suffix_of(other.path) != suffix_of(path):
                both = f"{path.name} and {other.path.name}"
                raise ValueError(f"Expected one file of each name in {folder}. Received: {both}")
            tables[stem_of(path)] = table
        else:
            refused[path] = (
                f"Expected {' and '.join(columns.wanted())} in the lines of {path}. "
                f"Received: {first_shown(path)}"
            )
    return dict(sorted(tables.items())), refused


def _no_pairs(folder, columns, refused):
    expected = f"Expected {', '.join(TABLES)} files with a source and a target in {folder}, or"
    known = languages(folder)
    reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10])
    if AUTO in (columns.first, columns.second):
        there = f"; the languages there are {', '.join(known)}" if known else ""
        return (
            f"{expected} the languages of parallel files as source_column and target_column. "
            f"Received: source_column={columns.first}, target_column={columns.second}"
            f"{there}{reasons}"
        )
    return (
        f"{expected} files such as train.{columns.first} and train.{columns.second}. Received: "
        f"{', '.join(sorted(entry.name for entry in folder.iterdir())[:10]) or 'nothing'}{reasons}"
    )
