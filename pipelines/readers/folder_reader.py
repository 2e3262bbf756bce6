"""From a data folder, a caption file or the name of a data set to captioned pictures."""

import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pipelines.caption_folder import CaptionedPicture, CaptionFolder
from pipelines.picture_check import check_pictures
from pipelines.readers.forms import SUFFIXES, TEXTS, form_of, shows_records
from pipelines.readers.record import AUTO, Columns, Record
from pipelines.readers.text_reader import PICTURE_SUFFIXES, read_sidecar, sidecars
from pipelines.readers.tfds_reader import is_tfds, materialized
from pipelines.skipped import Skipped, listing

SIDECARS = "a text file beside each picture"


def read_captions(
    folder,
    captions_file: str = AUTO,
    image_column: str = AUTO,
    caption_column: str = AUTO,
    image_folder: str = "images",
    cache=None,
) -> CaptionFolder:
    """Reads captioned pictures, in whichever of these forms they come.

    CSV or TSV with a header; JSON lines, metadata.csv and metadata.jsonl of image folders
    included; a JSON list of records; COCO captions; Flickr8k tokens; photo.txt beside photo.jpg,
    one caption a line. UTF-8, with or without byte order mark, any line ends. All pictures are
    decoded once to find those that cannot be; see `check_pictures`.

    Args:
        folder: path of a data folder or of a caption file in it, or "tfds:NAME[/CONFIG]".
        captions_file: name inside the folder; "auto" takes the one caption file there is.
        image_column: column or key with the picture's name; "auto" knows the usual ones.
        caption_column: column or key with the caption, or a list of captions.
        image_folder: folder of the pictures, relative to `folder`. Names are looked up there if
            it exists, then in `folder`.
        cache: folder of the verdicts on pictures; in the user's cache if None.

    Returns:
        `CaptionFolder`; pictures in the order of the file, records that cannot be used in
        `skipped`.

    Raises:
        ValueError: no caption file or several, a missing column, or nothing usable.
        ImportError: tensorflow-datasets is wanted and not there.
    """
    data = folder
    folder = data_folder(data)
    if not is_tfds(data) and Path(data).is_file():
        captions_file = Path(data).name
    columns = Columns(image_column, caption_column)
    images = folder / image_folder if (folder / image_folder).is_dir() else folder
    if captions_file != AUTO:
        source = folder / captions_file
        if not source.is_file():
            raise ValueError(f"Expected a caption file at {source}. Received: no such file")
        form, read = form_of(source, columns)
    elif not folder.is_dir():
        raise ValueError(f"Expected a caption file at {folder}. Received: no such file or folder")
    elif (found := _caption_file(folder, images, columns)) is None:
        return _collect(folder, images, _sidecar_records(folder, images), images, SIDECARS, cache)
    else:
        source, form, read = found
    records = ((source, record) for record in read())
    return _collect(folder, images, records, source, form, cache)


def data_folder(data) -> Path:
    """The folder that holds the data: itself, that of a caption file, or that of a data set."""
    if is_tfds(data):
        return materialized(str(data))
    return Path(data).parent if Path(data).is_file() else Path(data)


def _caption_file(folder, images, columns):
    """The one caption file there is, its form and reader; None where sidecar files are."""
    found, refused = [], []
    for path in sorted({*folder.iterdir(), *images.iterdir()}):
        text = path.suffix.lower() in TEXTS
        if path.suffix.lower() not in SUFFIXES or not path.is_file() or (text and _beside(path)):
            continue
        try:
            form, read = form_of(path, columns)
        except ValueError as error:
            refused += [] if text else [str(error)]
            continue
        if shows_records(path, columns):
            found.append((path, form, read))
        else:
            refused.append(f"no line of {path} holds a picture and a caption")
    if len(found) > 1:
        names = ", ".join(str(path.relative_to(folder)) for path, _, _ in found)
        raise ValueError(
            f"Expected one caption file in {folder}; captions_file names one. Received: {names}"
        )
    if not found and not any(text for _, text in sidecars(images)):
        if len(refused) == 1:
            raise ValueError(refused[0])
        reasons = "".join(f"\n  {one}" for one in refused[:10]) or " no such file"
        raise ValueError(
            f"Expected a caption file (CSV, TSV, JSON lines, JSON, Flickr8k tokens) in {folder}, "
            f"or {SIDECARS}. Received:{reasons}"
        )
    return found[0] if found else None


def _beside(path) -> Path | None:
    """The picture that a text file stands beside."""
    suffixes = (*PICTURE_SUFFIXES, *(one.upper() for one in PICTURE_SUFFIXES))
    pictures = (path.with_suffix(suffix) for suffix in suffixes)
    return next((one for one in pictures if one.is_file()), None)


def _sidecar_records(folder, images) -> Iterator[tuple[Path, Record]]:
    for picture, text in sidecars(images):
        name = picture.relative_to(images).as_posix()
        if text is None:
            yield picture, Record(0, reason="no text file with captions beside it")
            continue
        for record in read_sidecar(text, name):
            yield text, record
    if images != folder:
        for path in sorted(images.rglob("*.txt")):
            if not _beside(path):
                yield path, Record(0, reason="no picture beside it")


def _collect(folder, images, records, source, form, cache) -> CaptionFolder:
    """Puts captions and pictures together, and apart what cannot be used."""
    locate = functools.cache(functools.partial(_located, folder, images, _roots(folder, images)))
    rows = []
    for file, record in records:
        path, problem = locate(record.first.strip())
        reason = record.reason or ("" if record.second.split() else "empty caption") or problem
        rows.append((file, record, path, reason))
    usable = (path for _, _, path, reason in rows if not reason)
    verdicts = check_pictures(usable, folder, cache)
    captions: dict[str, list[str]] = defaultdict(list)
    paths, skipped = {}, []
    for file, record, path, reason in rows:
        name = record.first.strip()
        if not reason and path in verdicts:
            reason = f"the picture {path} is unusable: {verdicts[path]}"
        if reason:
            skipped.append(Skipped(file, record.line, reason, name))
            continue
        paths[name] = path
        captions[name].append(" ".join(record.second.split()))
    if not captions:
        raise ValueError(f"Expected usable records in {source}. Received: none{listing(skipped)}")
    pictures = [CaptionedPicture(name, paths[name], tuple(own)) for name, own in captions.items()]
    return CaptionFolder(pictures, len(rows), skipped, source, form)


def _roots(folder, images):
    """What a picture's path must stay inside."""
    return folder.resolve(), images.resolve()


def _located(folder, images, roots, name):
    """The path of a picture by its name, and the reason why it cannot be used."""
    path = images / name
    if not name:
        return path, "no picture named"
    try:
        path = next((one for one in (path, folder / name) if one.is_file()), path)
        resolved = path.resolve()
        if not any(resolved.is_relative_to(root) for root in roots):
            return path, f"the path {name!r} leads out of the folder"
        return path, "" if path.is_file() else f"no picture at {path}"
    except (OSError, RuntimeError, ValueError) as error:
        return path, f"no picture at {name!r:.80}: {error}"
