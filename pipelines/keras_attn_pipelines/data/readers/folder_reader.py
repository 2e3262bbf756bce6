"""Reads captioned pictures from a data folder, a caption file or a named data set."""

from functools import partial

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.columns import AUTO, Columns
from keras_attn_pipelines.data.picture_folder import CaptionedPicture, PictureFolder
from keras_attn_pipelines.data.readers.forms import TABLES, TEXTS
from keras_attn_pipelines.data.readers.picture_reader import (
    FoundRecords,
    PictureKind,
    metadata_of_splits,
    read_pictures,
)
from keras_attn_pipelines.data.readers.text_reader import read_sidecars, sidecars
from keras_attn_pipelines.data.readers.tfds_reader import materialized, write_pictures

COCO = "annotations/*captions*.json"
"""Those of COCO's files that have captions."""
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


def _candidates(folder, images):
    files = sorted(file for file in {*folder.iterdir(), *images.iterdir()} if file.is_file())
    beside = {picture.with_suffix("") for picture in files if _suffix(picture) in PICTURE_SUFFIXES}
    tables = [
        file
        for file in files
        if _suffix(file) in TABLES
        or (_suffix(file) in TEXTS and file.with_suffix("") not in beside)
    ]
    return [*tables, *sorted(folder.glob(COCO)), *metadata_of_splits(folder)]


def _suffix(path):
    return path.suffix.lower()


def _beside_pictures(names, has_candidates):
    """The captions in text files beside pictures, where there are any."""
    folder, images = names.folder, names.images
    if not any(sidecars(images).values()):
        return None
    return FoundRecords(names, read_sidecars(folder, images), images, SIDECARS)


CAPTIONED = PictureKind(
    data="a caption file",
    file="a caption file",
    flag="--captions-file",
    formats="CSV, TSV, JSON lines, JSON, Flickr8k tokens",
    instead=SIDECARS,
    by_name=partial(materialized, write_pictures),
    candidates=_candidates,
    without_file=_beside_pictures,
    picture=CaptionedPicture,
)
