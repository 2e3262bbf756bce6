"""Reads pairs of texts from a data folder, a file or a named data set."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from keras_attn_pipelines.data.columns import AUTO, PAIRS, Columns
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.pairs import collected
from keras_attn_pipelines.data.readers.csv_reader import WITHOUT_HEADER
from keras_attn_pipelines.data.readers.forms import (
    SUFFIXES,
    TABLES,
    form_of,
    is_table,
    record_files,
)
from keras_attn_pipelines.data.readers.opened import opened
from keras_attn_pipelines.data.readers.parallel_reader import (
    SIDES,
    languages,
    parallel_files,
    read_parallel,
)
from keras_attn_pipelines.data.readers.tfds_reader import materialized, write_texts
from keras_attn_pipelines.data.record_file import RecordFile, left_out
from keras_attn_pipelines.data.split_names import check_named_splits, split_in
from keras_attn_pipelines.data.text_lines import stem_of, suffix_of


def pair_sources(
    data,
    source_column: str = AUTO,
    target_column: str = AUTO,
    header: bool | None = None,
    places: tuple[int, ...] = (),
    language: str = AUTO,
) -> dict[str, RecordFile]:
    """Finds pairs of texts in any of these formats.

    Parallel text files, `train.en` and `train.de` or `src-train.txt` and `tgt-train.txt`, one text
    per line; CSV or TSV, also without a header; JSON lines, also with both texts under
    "translation", or with a list of targets. Each plain or .gz, UTF-8, with or without byte order
    mark.

    Args:
        data: path of a data folder or of one such file, or "tfds:NAME[/CONFIG]".
        source_column: suffix, column or key of the source; "auto" knows usual columns.
        target_column: likewise for the target.
        header: whether tables have a header; None: if their first row has known names, or those of
            languages.
        places: columns of source and target in tables without a header, from 1; () for the first
            two with texts.
        language: of records that name theirs, such as "en-de"; "auto" for the only one.

    Returns:
        dict from the stem of a file's name ("train") to its `RecordFile`.

    Raises:
        ValueError: nothing found, parallel files without named languages, or one column for both.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    columns = Columns(source_column, target_column, PAIRS, header, places, language)
    are_named = AUTO not in (source_column, target_column)
    suffixes = (source_column.lower().lstrip("."),), (target_column.lower().lstrip("."),)

    def others(folder, tables, refused):
        """Pairs in parallel files."""
        if folder.is_file():
            stem, place = stem_of(folder), folder.parent
            files = parallel_files(place, suffixes)[0].get(stem) if are_named else None
            return {stem: _parallel(place, *files, named=folder)} if files else {}
        parallel, alone = parallel_files(folder, suffixes) if are_named else ({}, {})
        if tables and parallel:
            names = ", ".join(path.name for files in parallel.values() for path in files)
            known = ", ".join(table.path.name for table in tables.values())
            raise ValueError(
                f"Expected one layout of pairs in {folder}. Received: {names} beside {known}"
            )
        refused |= alone
        if not tables and not parallel:
            sides = suffixes if are_named else SIDES
            parallel, _ = parallel_files(folder, sides, by_suffix=False)
        return {stem: _parallel(folder, *files) for stem, files in parallel.items()}

    return text_sources(data, columns, "pairs of texts", others, _expected_pairs)


def text_sources(
    data,
    columns: Columns,
    what: str,
    others: Callable[[Path, dict[str, RecordFile], dict[Path, str]], dict[str, RecordFile]],
    expected: Callable[[Path, Columns], str],
) -> dict[str, RecordFile]:
    """Finds records of two texts in tables, or in another layout.

    Args:
        data: path of a data folder or of a file, or "tfds:NAME[/CONFIG]".
        columns: of the records.
        what: what the data hold, for errors.
        others: function from a folder, its tables and why other files are none to files of records
            in another layout; it may say more of what is refused. Or from a file that is no table.
        expected: function from a path and the columns to what was expected there and what came.

    Raises:
        ValueError: nothing found, or one column for both.
    """
    if columns.first == columns.second != AUTO:
        words = " and a ".join(f"{word}_column" for word in columns.known.words)
        raise ValueError(f"Expected a {words} that differ. Received: {columns.first!r} twice")
    place = opened(data, partial(materialized, write_texts, "tfds-texts"), what)
    path = place.place
    if path.is_file() and (suffix_of(path) in TABLES or is_table(path, columns)):
        columns = replace(columns, guesses=True)
        return {stem_of(path): _file(path, *form_of(path, columns), columns)}
    tables, refused, unlabeled = ({}, {}, []) if path.is_file() else _tables_in(path, columns)
    found = tables | others(path, tables, refused)
    if not found:
        reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10])
        raise ValueError(f"{expected(path, columns)}{reasons}")
    if path.is_dir():
        check_named_splits(path, [*found, *unlabeled], refused)
    return place.naming(data, found)


def _parallel(folder, *files, named=None):
    """The `RecordFile` of two parallel files in a folder; one may be named by the user."""
    for path in files:
        if path != named:
            check_inside(path, folder)
    same = len(set(map(stem_of, files))) == 1
    sides = [suffix_of(path).removeprefix(".") if same else path.name for path in files]
    form = f"parallel text in {' and '.join(sides)}"
    return _file(files[0], form, partial(read_parallel, *files), Columns(known=PAIRS))


def _file(path, form, read, columns):
    """The `RecordFile` of records that a function yields."""
    words, language = columns.known.words, columns.language
    return RecordFile(path, form, lambda path, form: collected(path, form, read(), words, language))


def _tables_in(folder, columns):
    """`RecordFile`s of the tables in a folder by stem, why other files are not tables, and the
    stems of those of test that are left out, since they have no second field."""
    paths = [
        path
        for path in sorted(folder.iterdir(), reverse=True)
        if path.is_file() and (suffix_of(path) in TABLES or is_table(path, columns))
    ]
    files, refused, without, _ = record_files(paths, [folder], columns)
    tables: dict[str, RecordFile] = {}
    for path, form, read in files:
        stem = stem_of(path)
        if suffix_of(path) not in SUFFIXES:
            stem = split_in(path.name) or stem  # Of cooking.train.
        other = tables.get(stem)
        if other is not None and suffix_of(other.path) != suffix_of(path):
            both = f"{path.name} and {other.path.name}"
            raise ValueError(f"Expected one file of each name in {folder}. Received: {both}")
        tables[stem] = _file(path, form, read, columns)
    if tables:  # JSON may be anything beside them.
        refused = {path: why for path, why in refused.items() if suffix_of(path) != ".json"}
    _check_headers(folder, [table for table in tables.values() if "TSV" in table.form])
    tables = left_out(tables, without, f"a {columns.known.words[1]}")
    return dict(sorted(tables.items())), refused, [stem_of(Path(name)) for name in without]


def _check_headers(folder, tables):
    """Raises ValueError for tables with a header beside others without one."""
    without = [table.path.name for table in tables if WITHOUT_HEADER in table.form]
    if without and len(without) < len(tables):
        others = [table.path.name for table in tables if WITHOUT_HEADER not in table.form]
        raise ValueError(
            f"Expected tables in {folder} that all have a header, or none (set --header or "
            f"--no-header). Received: {', '.join(others)} with one, {', '.join(without)} without"
        )


def _expected_pairs(place, columns):
    """What was expected in a file or folder without pairs, and what came."""
    given = f"source_column={columns.first}, target_column={columns.second}"
    if place.is_file():
        return (
            f"Expected a file of {', '.join(TABLES)}, or one of two parallel files whose suffixes "
            f"are source_column and target_column. Received: {place} with {given}"
        )
    instead = f"files such as train.{columns.first} and train.{columns.second}"
    received = ", ".join(sorted(entry.name for entry in place.iterdir())[:10]) or "nothing"
    if AUTO in (columns.first, columns.second):
        instead = "the languages of parallel files as source_column and target_column"
        there = ", ".join(languages(place))
        received = f"{given}{there and f'; the languages there are {there}'}"
    return (
        f"Expected {', '.join(TABLES)} files with a source and a target in {place}, or {instead}. "
        f"Received: {received}"
    )
