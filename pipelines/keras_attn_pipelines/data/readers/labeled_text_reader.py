"""Reads texts with labels from a data folder, a file or a named data set."""

from functools import partial

from keras_attn.text_file import bytes_of
from keras_attn_pipelines.data.columns import AUTO, TEXT_LABELS, Columns
from keras_attn_pipelines.data.data_files import way_out
from keras_attn_pipelines.data.pairs import TextPair, collected_files
from keras_attn_pipelines.data.readers.class_folders import (
    CLASS_FOLDERS,
    NO_CLASS,
    ClassFile,
    class_files,
    class_form,
    has_class_folders,
)
from keras_attn_pipelines.data.readers.forms import TABLES, is_table
from keras_attn_pipelines.data.readers.opened import opened
from keras_attn_pipelines.data.readers.pair_reader import table_at, tables_in
from keras_attn_pipelines.data.readers.tfds_reader import materialized, write_texts
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.record_file import ReadFile, RecordFile
from keras_attn_pipelines.data.split_names import check_named_splits
from keras_attn_pipelines.data.text_lines import is_text, stem_of, suffix_of, text_of

TEXT_FILES = (".txt",)


def labeled_texts(
    data, text_column: str = AUTO, label_column: str = AUTO, language: str = AUTO
) -> dict[str, RecordFile]:
    """Finds texts with labels in any of these formats.

    CSV or TSV with a header, or JSON lines, plain or .gz, in UTF-8; or a folder for each class with
    a .txt file for each text, at the top (`pos/1.txt`) or in split folders (`train/pos/1.txt`).

    Args:
        data: path of a data folder or of a table, or "tfds:NAME[/CONFIG]".
        text_column: column or key of the text; "auto" tries the common names.
        label_column: likewise of the label. In JSON lines it may be an integer.
        language: of records that name theirs; "auto" for the only one.

    Returns:
        dict from the stem of a file's name, or from a split, to its `RecordFile`.

    Raises:
        ValueError: nothing found, or one column for both.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    if text_column == label_column != AUTO:
        raise ValueError(
            "Expected a text_column and a label_column that differ. "
            f"Received: {text_column!r} twice"
        )
    columns = Columns(text_column, label_column, TEXT_LABELS, language=language)
    place = opened(data, partial(materialized, write_texts))
    folder = place.place
    if folder.is_file():
        if suffix_of(folder) not in TABLES and not is_table(folder, columns):
            raise ValueError(f"Expected a file of {', '.join(TABLES)}. Received: {folder}")
        return {stem_of(folder): table_at(folder, columns)}
    if not folder.is_dir():
        raise ValueError(f"Expected labeled texts at {folder}. Received: no such file or folder")
    tables, refused, unlabeled = tables_in(folder, columns)
    found: dict[str, RecordFile] = dict(tables)
    if not tables and has_class_folders(folder, TEXT_FILES):
        found = dict(_class_folders(folder))
    if not found:
        reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10]) or " neither"
        raise ValueError(
            f"Expected {', '.join(TABLES)} files with a text and a label in {folder}, or "
            f"{CLASS_FOLDERS} with .txt files. Received:{reasons}"
        )
    check_named_splits(folder, [*found, *unlabeled], refused)
    return place.naming(data, found)


def _class_folders(folder):
    """The files of each split, a text each; all are train where folders are no splits."""
    splits: dict[str, list[ClassFile]] = {}
    for file in class_files(folder, TEXT_FILES):
        splits.setdefault(file.split or "train", []).append(file)
    form = class_form(folder)
    return {
        split: RecordFile(folder, form, partial(_read_files, folder, files))
        for split, files in splits.items()
    }


def _read_files(folder, files, path, form) -> ReadFile[TextPair]:
    records = ((file.path, _record(file, folder)) for file in files)
    return collected_files(path, form, records, TEXT_LABELS.words)


def _record(file, folder):
    if reason := way_out(file.path, folder):
        return Record(0, reason=reason)
    text = text_of(bytes_of(file.path))
    reason = "" if file.label else NO_CLASS
    reason = reason or ("" if is_text(text) else "not UTF-8")
    return Record(0, reason=reason) if reason else Record(0, text, file.label)
