"""Reads captioned or labeled pictures from a data folder, a file of records or a named data set."""

from functools import partial
from itertools import chain

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.columns import AUTO, LABELS, Columns
from keras_attn_pipelines.data.picture_folder import CaptionedPicture, LabeledPicture, PictureFolder
from keras_attn_pipelines.data.readers.class_folders import (
    CLASS_FOLDERS,
    NO_CLASS,
    class_files,
    class_form,
    has_class_folders,
)
from keras_attn_pipelines.data.readers.forms import TABLES, TEXTS
from keras_attn_pipelines.data.readers.picture_reader import (
    FoundRecords,
    PictureKind,
    metadata_of_splits,
    read_pictures,
)
from keras_attn_pipelines.data.readers.text_reader import read_sidecars, sidecars
from keras_attn_pipelines.data.readers.tfds_reader import materialized, write_pictures
from keras_attn_pipelines.data.record import Record

IN_FOLDERS = ("annotations/*captions*.json", "Flickr*_text/*.token.txt")
"""Files with captions that COCO and Flickr8k have in a folder of their own."""
SIDECARS = "a text file beside each picture"


def read_captions(
    folder,
    captions_file: str = AUTO,
    image_column: str = AUTO,
    caption_column: str = AUTO,
    image_folder: str = "images",
    language: str = AUTO,
    cache=None,
) -> PictureFolder[CaptionedPicture]:
    """Reads captioned pictures in any of these formats.

    CSV or TSV with a header; JSON lines, metadata.csv and metadata.jsonl of image folders included;
    a JSON list of records; COCO captions; Flickr8k tokens; photo.txt beside photo.jpg, one caption
    per line. UTF-8, with or without byte order mark, any line ends. All pictures are decoded once
    to find the unreadable ones; see `examine_pictures`.

    Args:
        folder: path of a data folder or of a caption file in it, or "tfds:NAME[/CONFIG]".
        captions_file: name inside the folder; "auto" takes the only caption file.
        image_column: column or key of the picture's name; "auto" tries the common names.
        caption_column: column or key with the caption, or a list of captions.
        image_folder: folder of the pictures, relative to `folder`. Names are looked up there if
            it exists, then in `folder`.
        language: of captions that name theirs; "auto" for the only one.
        cache: folder of cached picture checks; in the user's cache if None.

    Returns:
        `PictureFolder`; pictures in file order, unusable records in `skipped`.

    Raises:
        ValueError: no caption file or several, a missing column, or nothing usable.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    columns = Columns(image_column, caption_column, language=language)
    return read_pictures(folder, CAPTIONED, captions_file, columns, image_folder, cache)


def _caption_files(folder, images):
    files = sorted(file for file in {*folder.iterdir(), *images.iterdir()} if file.is_file())
    kind = {file: file.suffix.lower() for file in files}
    beside = {picture.with_suffix("") for picture in files if kind[picture] in PICTURE_SUFFIXES}
    tables = [file for file in files if kind[file] in TABLES]
    texts = (file for file in files if kind[file] in TEXTS)
    tables += (file for file in texts if file.with_suffix("") not in beside)
    inside = (sorted(folder.glob(name)) for name in IN_FOLDERS)
    return [*tables, *chain(*inside), *metadata_of_splits(folder)]


def _beside_pictures(names, has_candidates):
    """The captions in text files beside pictures, where there are any."""
    images = names.images
    if not any(sidecars(images).values()):
        return None
    return FoundRecords(names, read_sidecars(names.folder, images), images, SIDECARS)


CAPTIONED = PictureKind(
    data="a caption file",
    file="a caption file",
    flag="--captions-file",
    formats="CSV, TSV, JSON lines, JSON, Flickr8k tokens",
    instead=SIDECARS,
    by_name=partial(materialized, write_pictures, "tfds"),
    candidates=_caption_files,
    without_file=_beside_pictures,
    picture=CaptionedPicture,
)


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


def _label_files(folder, images):
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
    candidates=_label_files,
    without_file=_in_class_folders,
    picture=lambda name, path, labels, digest: LabeledPicture(name, path, labels[0], digest),
    is_single=True,
)
