"""Reads captioned pictures from a data folder, a caption file or a named data set."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.data_files import files_below, way_out
from keras_attn_pipelines.data.picture_folder import CaptionedPicture, PictureFolder
from keras_attn_pipelines.data.readers.forms import SUFFIXES, TEXTS, form_of, record_files
from keras_attn_pipelines.data.readers.picture_paths import FoundRecords, located
from keras_attn_pipelines.data.readers.text_reader import read_sidecar, sidecars
from keras_attn_pipelines.data.readers.tfds_reader import is_tfds, materialized
from keras_attn_pipelines.data.record import AUTO, Columns, Record
from keras_attn_pipelines.data.skipped import listing
from keras_attn_pipelines.data.split_names import check_refused

SIDECARS = "a text file beside each picture"


def read_captions(
    folder,
    captions_file: str = AUTO,
    image_column: str = AUTO,
    caption_column: str = AUTO,
    image_folder: str = "images",
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
        cache: folder of cached picture checks; in the user's cache if None.

    Returns:
        `PictureFolder`; pictures in file order, unusable records in `skipped`.

    Raises:
        ValueError: no caption file or several, a missing column, or nothing usable.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    columns = Columns(image_column, caption_column)
    return _collect(*captions_found(folder, captions_file, columns, image_folder), cache)


def captions_found(data, captions_file: str, columns: Columns, image_folder: str) -> FoundRecords:
    """Finds the captions that `read_captions` reads, of which it reads no more than the first ones.

    Raises:
        ValueError: no caption file or several, or a missing column.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    folder = data_folder(data)
    if not is_tfds(data) and Path(data).is_file():
        captions_file = Path(data).name
    images = folder / image_folder if (folder / image_folder).is_dir() else folder
    if captions_file != AUTO:
        source = folder / captions_file
        if not source.is_file():
            raise ValueError(f"Expected a caption file at {source}. Received: no such file")
        form, read = form_of(source, columns)
    elif not folder.is_dir():
        raise ValueError(f"Expected a caption file at {folder}. Received: no such file or folder")
    elif (file := _caption_file(folder, images, columns)) is None:
        return FoundRecords(folder, images, _sidecar_records(folder, images), images, SIDECARS)
    else:
        source, form, read = file
    return FoundRecords(folder, images, ((source, record) for record in read()), source, form)


def data_folder(data) -> Path:
    """The data folder: `data` itself, or the folder of a caption file or of a named data set."""
    if is_tfds(data):
        return materialized(str(data))
    return Path(data).parent if Path(data).is_file() else Path(data)


def _caption_file(folder, images, columns):
    """The only caption file, its format and reader; None for sidecar files."""
    files = sorted(file for file in {*folder.iterdir(), *images.iterdir()} if file.is_file())
    known = [file for file in files if file.suffix.lower() in SUFFIXES]
    paths = (file for file in known if file.suffix.lower() not in TEXTS or not _beside(file))
    readable, refused = record_files(paths, [folder, images], columns)
    if len(readable) > 1:
        names = ", ".join(str(path.relative_to(folder)) for path, _, _ in readable)
        raise ValueError(
            f"Expected one caption file in {folder}; captions_file names one. Received: {names}"
        )
    if not readable and not any(text for _, text in sidecars(images)):
        if len(refused) == 1:
            raise ValueError(*refused.values())
        reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10])
        reasons = reasons or " no such file"
        raise ValueError(
            f"Expected a caption file (CSV, TSV, JSON lines, JSON, Flickr8k tokens) in {folder}, "
            f"or {SIDECARS}. Received:{reasons}"
        )
    if readable:
        check_refused(refused)
    return readable[0] if readable else None


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


def _collect(folder, images, records, source, form, cache) -> PictureFolder[CaptionedPicture]:
    """Joins captions and pictures, and collects unusable records."""
    rows = located(records, folder, images, "caption", cache)
    captions: dict[str, list[str]] = defaultdict(list)
    files = {}
    for row in rows:
        if not row.reason:
            files[row.name] = row
            captions[row.name].append(" ".join(row.record.second.split()))
    skipped = [row.skipped() for row in rows if row.reason]
    if not captions:
        raise ValueError(f"Expected usable records in {source}. Received: none{listing(skipped)}")
    pictures = [
        CaptionedPicture(name, files[name].path, tuple(texts), files[name].digest)
        for name, texts in captions.items()
    ]
    return PictureFolder(pictures, len(rows), skipped, source, form)
