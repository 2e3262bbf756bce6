"""Reads labeled pictures from a data folder or a labels file."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.picture_folder import LabeledPicture, PictureFolder
from keras_attn_pipelines.data.readers.class_folders import (
    CLASS_FOLDERS,
    NO_CLASS,
    class_files,
    has_class_folders,
)
from keras_attn_pipelines.data.readers.forms import DELIMITERS, LINES, form_of, record_files
from keras_attn_pipelines.data.readers.picture_paths import FoundRecords, located
from keras_attn_pipelines.data.record import AUTO, LABELS, Columns, Record
from keras_attn_pipelines.data.skipped import Skipped, listing
from keras_attn_pipelines.data.split_names import check_refused


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
    if found is None:
        return _class_folders(labels_folder(data), cache)
    return _collect(*found, cache)


def labels_found(
    data, labels_file: str, columns: Columns, image_folder: str
) -> FoundRecords | None:
    """Finds the labels that `read_labels` reads, of which it reads no more than the first ones.

    Returns:
        `FoundRecords`, or None for a folder for each class.

    Raises:
        ValueError: neither, several labels files, or a missing column.
    """
    folder = labels_folder(data)
    if Path(data).is_file():
        labels_file = Path(data).name
    images = folder / image_folder if (folder / image_folder).is_dir() else folder
    if labels_file != AUTO:
        source = folder / labels_file
        if not source.is_file():
            raise ValueError(f"Expected a labels file at {source}. Received: no such file")
        form, read = form_of(source, columns)
    elif not folder.is_dir():
        raise ValueError(f"Expected labeled pictures at {folder}. Received: no such file or folder")
    elif (file := _labels_file(folder, columns)) is None:
        return None
    else:
        source, form, read = file
    return FoundRecords(folder, images, ((source, record) for record in read()), source, form)


def labels_folder(data) -> Path:
    """The data folder: `data` itself, or the folder of a labels file."""
    return Path(data).parent if Path(data).is_file() else Path(data)


def _labels_file(folder, columns):
    """The only labels file, its format and reader; None for class folders."""
    suffixes = (*DELIMITERS, *LINES)
    paths = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in suffixes]
    files, refused = record_files(paths, [folder], columns)
    if len(files) > 1:
        names = ", ".join(path.name for path, _, _ in files)
        raise ValueError(
            f"Expected one labels file in {folder}; labels_file names one. Received: {names}"
        )
    if not files and not has_class_folders(folder, PICTURE_SUFFIXES):
        reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10]) or " neither"
        raise ValueError(
            f"Expected a labels file (CSV, TSV, JSON lines) in {folder}, or {CLASS_FOLDERS}. "
            f"Received:{reasons}"
        )
    if files:
        check_refused(refused)
    return files[0] if files else None


def _class_folders(folder, cache):
    """The pictures in folders of classes; the label is the name of the class's folder."""
    files = class_files(folder, PICTURE_SUFFIXES)
    records = (
        (file.path, Record(0, file.name, file.label))
        if file.label
        else (file.path, Record(0, file.name, reason=NO_CLASS))
        for file in files
    )
    read = _collect(folder, folder, records, folder, CLASS_FOLDERS, cache)
    splits = {file.name: file.split for file in files}
    return replace(
        read, pictures=[replace(picture, split=splits[picture.name]) for picture in read.pictures]
    )


def _collect(
    folder: Path,
    images: Path,
    records: Iterable[tuple[Path, Record]],
    source: Path,
    form: str,
    cache,
) -> PictureFolder[LabeledPicture]:
    """Joins labels and pictures, and collects unusable records."""
    rows = located(records, folder, images, "label", cache)
    pictures: dict[str, LabeledPicture] = {}
    skipped: list[Skipped] = []
    for row in rows:
        label = " ".join(row.record.second.split())
        known = pictures.get(row.name)
        if row.reason:
            skipped.append(row.skipped())
        elif known and known.label != label:
            skipped.append(row.skipped(f"the label {label!r} for a picture of {known.label!r}"))
        else:
            pictures[row.name] = LabeledPicture(row.name, row.path, label, row.digest)
    if not pictures:
        raise ValueError(f"Expected usable records in {source}. Received: none{listing(skipped)}")
    return PictureFolder(list(pictures.values()), len(rows), skipped, source, form)
