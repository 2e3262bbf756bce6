"""Reads texts with labels from a data folder, a file or a named data set."""

from functools import partial

from keras_attn.text_file import bytes_of, is_text, text_of
from keras_attn_pipelines.data.columns import AUTO, TEXT_LABELS, Columns
from keras_attn_pipelines.data.data_files import way_out
from keras_attn_pipelines.data.pairs import collected_files
from keras_attn_pipelines.data.readers.class_folders import (
    CLASS_FOLDERS,
    NO_CLASS,
    ClassFile,
    class_files,
    class_form,
    has_class_folders,
)
from keras_attn_pipelines.data.readers.forms import TABLES
from keras_attn_pipelines.data.readers.pair_reader import text_sources
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.record_file import RecordFile

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
    columns = Columns(text_column, label_column, TEXT_LABELS, language=language)
    return text_sources(data, columns, "labeled texts", _class_folders, _expected_labels)


def _expected_labels(place, columns):
    """What was expected in a file or folder without labeled texts, and what came."""
    if place.is_file():
        return f"Expected a file of {', '.join(TABLES)}. Received: {place}"
    return (
        f"Expected {', '.join(TABLES)} files with a text and a label in {place}, or "
        f"{CLASS_FOLDERS} with .txt files. Received: neither"
    )


def _class_folders(folder, tables, refused):
    """The files of each split, a text each; all are train where folders are no splits."""
    if tables or folder.is_file() or not has_class_folders(folder, TEXT_FILES):
        return {}
    splits: dict[str, list[ClassFile]] = {}
    for file in class_files(folder, TEXT_FILES):
        splits.setdefault(file.split or "train", []).append(file)

    def read(files, path, form):
        records = ((file.path, _record(file, folder)) for file in files)
        return collected_files(path, form, records, TEXT_LABELS.words)

    form = class_form(folder)
    return {split: RecordFile(folder, form, partial(read, own)) for split, own in splits.items()}


def _record(file, folder):
    if reason := way_out(file.path, folder):
        return Record(0, reason=reason)
    text = text_of(bytes_of(file.path))
    reason = "" if is_text(text) else "not UTF-8"
    return Record(0, text, file.label, reason if file.label else NO_CLASS)
