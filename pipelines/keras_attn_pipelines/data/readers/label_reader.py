"""Reads labeled pictures from a data folder or a labels file."""

from dataclasses import replace
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.columns import AUTO, LABELS, Columns
from keras_attn_pipelines.data.picture_folder import LabeledPicture, PictureFolder
from keras_attn_pipelines.data.readers.class_folders import (
    CLASS_FOLDERS,
    NO_CLASS,
    class_files,
    class_form,
    has_class_folders,
)
from keras_attn_pipelines.data.readers.forms import TABLES
from keras_attn_pipelines.data.readers.opened import opened
from keras_attn_pipelines.data.readers.picture_paths import (
    FoundRecords,
    Located,
    folder_of,
    identity,
    located,
    other_split,
)
from keras_attn_pipelines.data.readers.picture_records import PictureKind, records_found
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.skipped import Skipped, listing

LABELED = PictureKind("a labels file", "labels_file", "CSV, TSV, JSON lines, JSON", CLASS_FOLDERS)


def read_labels(
    data,
    labels_file: str = AUTO,
    image_column: str = AUTO,
    label_column: str = AUTO,
    image_folder: str = "images",
    cache=None,
) -> PictureFolder[LabeledPicture]:
    """Reads labeled pictures in any of these formats.

    CSV or TSV with a header, or JSON lines; or a folder for each class, at the top (`cat/a.jpg`) or
    in split folders (`train/cat/a.jpg`), if there is one for train. Names that begin with a dot are
    ignored. All pictures are decoded once to find the unreadable ones; see `examine_pictures`.

    Args:
        data: path of a data folder or of a labels file in it.
        labels_file: name inside the folder; "auto" takes the only labels file.
        image_column: column or key of the picture's name; "auto" tries the common names.
        label_column: column or key of the label; "auto" tries the common names.
        image_folder: folder of the pictures in a labels file, relative to the data folder. Names
            are looked up there if it exists, then in the data folder.
        cache: folder of cached picture checks; in the user's cache if None.

    Returns:
        `PictureFolder`; pictures in the order of the file or of their paths, unusable records in
        `skipped`.

    Raises:
        ValueError: neither, several labels files, a missing column, or nothing usable.
    """
    columns = Columns(image_column, label_column, LABELS)
    found = labels_found(data, labels_file, columns, image_folder)
    return (
        _collect(found, cache) if isinstance(found, FoundRecords) else _class_folders(found, cache)
    )


def labels_found(
    data, labels_file: str, columns: Columns, image_folder: str
) -> FoundRecords | Path:
    """Finds the labels that `read_labels` reads, of which it reads no more than the first ones.

    Returns:
        `FoundRecords`; the path of the data folder if it has a folder for each class.

    Raises:
        ValueError: neither, several labels files, or a missing column.
    """
    place = opened(data, _unnamed)
    folder, named = place.folder, place.named or ("" if labels_file == AUTO else labels_file)
    if not named and not folder.is_dir():
        raise ValueError(f"Expected labeled pictures at {folder}. Received: no such file or folder")

    def candidates(images):
        return [file for file in sorted(folder.iterdir()) if file.suffix.lower() in TABLES]

    def has_classes(images):
        has_tables = bool(candidates(images))
        return has_class_folders(folder, PICTURE_SUFFIXES, of_splits=not has_tables)

    found = records_found(folder, named, columns, image_folder, LABELED, candidates, has_classes)
    if found is None:
        return folder
    return found._replace(source=Path(data), form=place.form) if place.form else found


def _unnamed(name):
    raise ValueError(f"Expected a folder or a file of labeled pictures. Received: {name}")


def _class_folders(folder, cache):
    """The pictures in folders of classes; the label is the name of the class's folder."""
    files = class_files(folder, PICTURE_SUFFIXES)
    records = (
        (file.path, Record(0, file.name, file.label))
        if file.label
        else (file.path, Record(0, file.name, reason=NO_CLASS))
        for file in files
    )
    read = _collect(FoundRecords(folder, folder, records, folder, class_form(folder)), cache)
    splits = {file.name: file.split for file in files}
    return replace(
        read, pictures=[replace(picture, split=splits[picture.name]) for picture in read.pictures]
    )


def _collect(found: FoundRecords, cache) -> PictureFolder[LabeledPicture]:
    """Joins labels and pictures, and collects unusable records."""
    rows = located(found, "label", cache=cache)
    files: dict[str, Located] = {}
    skipped: list[Skipped] = []
    for row in rows:
        first = row if row.reason else files.setdefault(identity(row.path), row)
        if reason := row.reason or _other_label(first, row) or other_split(first, row):
            skipped.append(row.skipped(reason))
    if not files:
        raise ValueError(
            f"Expected usable records in {found.source}. Received: none{listing(skipped)}"
        )
    pictures = [
        LabeledPicture(row.name, row.source, _label(row), row.digest) for row in files.values()
    ]
    return folder_of(found, pictures, len(rows), skipped, files.values())


def _label(row):
    return " ".join(row.record.second.split())


def _other_label(first, row):
    """Why a record contradicts an earlier one of the same picture; '' if it does not."""
    label, known = _label(row), _label(first)
    return "" if label == known else f"the label {label!r} for a picture of {known!r}"
