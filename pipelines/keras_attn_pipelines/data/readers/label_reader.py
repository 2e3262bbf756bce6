"""Reads labeled pictures from a data folder or a labels file."""

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
from keras_attn_pipelines.data.readers.picture_reader import (
    FoundRecords,
    PictureKind,
    metadata_of_splits,
    read_pictures,
)
from keras_attn_pipelines.data.record import Record


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
    return read_pictures(data, LABELED, labels_file, columns, image_folder, cache)


def _unnamed(name):
    raise ValueError(f"Expected a folder or a file of labeled pictures. Received: {name}")


def _candidates(folder, images):
    tables = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in TABLES]
    return [*tables, *metadata_of_splits(folder)]


def _in_class_folders(names, has_candidates):
    """The pictures in folders of classes; the label is the name of the class's folder."""
    folder = names.folder
    if not has_class_folders(folder, PICTURE_SUFFIXES, of_splits=not has_candidates):
        return None
    return FoundRecords(names.at(folder), _class_records(folder), folder, class_form(folder))


def _class_records(folder):
    for file in class_files(folder, PICTURE_SUFFIXES):
        reason = "" if file.label else NO_CLASS
        yield file.path, Record(0, file.name, file.label, reason, file.split)


LABELED = PictureKind(
    data="labeled pictures",
    file="a labels file",
    flag="--labels-file",
    formats="CSV, TSV, JSON lines, JSON",
    instead=CLASS_FOLDERS,
    by_name=_unnamed,
    candidates=_candidates,
    without_file=_in_class_folders,
    picture=lambda name, path, labels, digest: LabeledPicture(name, path, labels[0], digest),
    is_single=True,
)
