"""Reads captioned pictures from a data folder, a caption file or a named data set."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.columns import AUTO, Columns
from keras_attn_pipelines.data.data_files import files_below, way_out
from keras_attn_pipelines.data.picture_folder import CaptionedPicture, PictureFolder
from keras_attn_pipelines.data.readers.forms import SUFFIXES, TEXTS
from keras_attn_pipelines.data.readers.opened import opened
from keras_attn_pipelines.data.readers.picture_paths import (
    FoundRecords,
    Located,
    folder_of,
    identity,
    located,
    other_split,
)
from keras_attn_pipelines.data.readers.picture_records import (
    PictureKind,
    picture_folder,
    records_found,
)
from keras_attn_pipelines.data.readers.text_reader import read_sidecar, sidecars
from keras_attn_pipelines.data.readers.tfds_reader import materialized
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.skipped import listing

ANNOTATIONS = "annotations"
"""The folder of COCO's files, of which some have captions."""
SIDECARS = "a text file beside each picture"
CAPTIONED = PictureKind(
    "a caption file",
    "captions_file",
    "CSV, TSV, JSON lines, JSON, Flickr8k tokens",
    SIDECARS,
)


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
    columns = Columns(image_column, caption_column)
    found = captions_found(folder, captions_file, columns, image_folder)
    return _collect(found, language, cache)


def captions_found(data, captions_file: str, columns: Columns, image_folder: str) -> FoundRecords:
    """Finds the captions that `read_captions` reads, of which it reads no more than the first ones.

    Raises:
        ValueError: no caption file or several, or a missing column.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    place = opened(data, materialized)
    folder, named = place.folder, place.named or ("" if captions_file == AUTO else captions_file)
    if not named and not folder.is_dir():
        raise ValueError(f"Expected a caption file at {folder}. Received: no such file or folder")

    def candidates(images):
        files = sorted(file for file in {*folder.iterdir(), *images.iterdir()} if file.is_file())
        files += sorted((folder / ANNOTATIONS).glob("*captions*.json"))
        known = [file for file in files if file.suffix.lower() in SUFFIXES]
        return [file for file in known if file.suffix.lower() not in TEXTS or not _beside(file)]

    def has_sidecars(images):
        return any(text for _, text in sidecars(images))

    found = records_found(folder, named, columns, image_folder, CAPTIONED, candidates, has_sidecars)
    if found is not None:
        return found._replace(source=Path(data), form=place.form) if place.form else found
    images = picture_folder(folder, image_folder)
    return FoundRecords(folder, images, _sidecar_records(folder, images), images, SIDECARS)


def _beside(path) -> Path | None:
    """The picture beside a text file."""
    suffixes = (*PICTURE_SUFFIXES, *(suffix.upper() for suffix in PICTURE_SUFFIXES))
    pictures = (path.with_suffix(suffix) for suffix in suffixes)
    return next((file for file in pictures if file.is_file()), None)


def _sidecar_records(folder, images) -> Iterator[tuple[Path, Record]]:
    for picture, text in sidecars(images):
        name = picture.relative_to(images).as_posix()
        if text is None:
            yield picture, Record(0, reason="no text file with captions beside it")
            continue
        reason = way_out(text, folder)
        for record in [Record(0, reason=reason)] if reason else read_sidecar(text, name):
            yield text, record
    if images != folder:
        for path in files_below(images):
            if path.suffix == ".txt" and not _beside(path):
                yield path, Record(0, reason="no picture beside it")


def _collect(found, language, cache) -> PictureFolder[CaptionedPicture]:
    """Joins captions and pictures, and collects unusable records."""
    rows = located(found, "caption", language, cache)
    captions: dict[str, list[str]] = defaultdict(list)
    files: dict[str, Located] = {}
    skipped = []
    for row in rows:
        first = row if row.reason else files.setdefault(identity(row.path), row)
        if reason := row.reason or other_split(first, row):
            skipped.append(row.skipped(reason))
        else:
            captions[identity(row.path)].append(" ".join(row.record.second.split()))
    if not captions:
        raise ValueError(
            f"Expected usable records in {found.source}. Received: none{listing(skipped)}"
        )
    pictures = [
        CaptionedPicture(files[key].name, files[key].source, tuple(texts), files[key].digest)
        for key, texts in captions.items()
    ]
    return folder_of(found, pictures, len(rows), skipped, (files[key] for key in captions))
