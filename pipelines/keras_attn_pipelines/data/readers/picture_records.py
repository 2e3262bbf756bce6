"""Finds the records of pictures in a data folder: in one file, or in one for each split."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from keras_attn_pipelines.data.columns import Columns
from keras_attn_pipelines.data.readers.forms import Found, form_of, record_files
from keras_attn_pipelines.data.readers.picture_paths import FoundRecords, locator
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.record_file import left_out_note
from keras_attn_pipelines.data.split_names import check_refused, exact_split, split_in
from keras_attn_pipelines.data.text_lines import stem_of

IMAGES = "images"
"""The folder of pictures where none is named."""
IMAGE_FOLDER = re.compile(r"metadata\.(csv|jsonl)")
"""The file of records beside the pictures of a split, as hubs have it."""
TRIED = 20
"""How many records are tried to find the folder of their pictures."""


class PictureKind(NamedTuple):
    """What differs between records of pictures.

    Attributes:
        file: what messages call the file of records, such as "a caption file".
        flag: field of the source that names the file.
        formats: formats of the file, for messages.
        instead: what a folder may hold in its place.
    """

    file: str
    flag: str
    formats: str
    instead: str


def records_found(
    folder: Path,
    named: str,
    columns: Columns,
    image_folder: str,
    kind: PictureKind,
    candidates: Callable[[Path], Sequence[Path]],
    has_instead: Callable[[Path], bool],
) -> FoundRecords | None:
    """The records in the files of a data folder, of which it reads no more than the first ones.

    Args:
        folder: data folder.
        named: name of the file inside it; '' for the only one, or one for each split.
        columns: of the records.
        image_folder: folder of the pictures inside `folder`.
        kind: `PictureKind`.
        candidates: function from the folder of the pictures to files that may have records.
        has_instead: function from the folder of the pictures to whether there are records without
            a file of records.

    Returns:
        `FoundRecords`; None if there is no such file, but something instead.

    Raises:
        ValueError: no file, several, or a missing column.
    """
    images = picture_folder(folder, image_folder)

    def guessing():
        return replace(columns, guesses=True, is_file=_is_picture(folder, images))

    if named:
        path = folder / named
        if not path.is_file():
            raise ValueError(f"Expected {kind.file} at {path}. Received: no such file")
        return _read_from(folder, images, image_folder, [(path, *form_of(path, guessing()))])
    places, paths = list({folder, images}), [*candidates(images), *_in_splits(folder)]
    files, refused, without = record_files(paths, places, columns)
    if not files and not has_instead(images):
        files, refused, without = record_files(paths, places, guessing())
    if not files and not has_instead(images):
        raise ValueError(_none_found(folder, refused, kind))
    if files:
        _check_several(folder, files, kind)
        check_refused(refused)
    if not files:
        return None
    found = _read_from(folder, images, image_folder, files)
    note = left_out_note(without, f"a {columns.known.words[1]}")
    return found._replace(form=f"{found.form}{note}", left_out=without)


def picture_folder(folder: Path, image_folder: str) -> Path:
    """The folder of pictures inside a data folder, or the data folder itself."""
    return folder / image_folder if (folder / image_folder).is_dir() else folder


def _read_from(folder, images, image_folder, files: Sequence[Found]) -> FoundRecords:
    places = [images] * len(files)
    if image_folder == IMAGES and images == folder:
        places = [_folder_of_pictures(folder, file) for file in files]
    images = places[0] if len(set(places)) == 1 else folder
    inside = [place.relative_to(images) for place in places]
    path, form, _ = files[0]
    if len(files) == 1:
        return FoundRecords(folder, images, _records(files, inside), path, form)
    names = " and ".join(path.name for path, _, _ in files)
    return FoundRecords(folder, images, _records(files, inside), folder, f"{form} in {names}")


def _records(files, inside) -> Iterator[tuple[Path, Record]]:
    """The records of files, of which several name a split each.

    Args:
        files: as `record_files` finds them.
        inside: of each, where the pictures are inside the folder of pictures.
    """
    for (path, _, read), place in zip(files, inside):
        split = _split_of(path) if len(files) > 1 or IMAGE_FOLDER.fullmatch(path.name) else ""
        for record in read():
            first = (place / record.first.strip()).as_posix() if place.parts else record.first
            yield path, replace(record, first=first, split=split or record.split)


def _split_of(path):
    """The split that a file of records is named for, or that its folder is."""
    return split_in(stem_of(path)) or exact_split(path.parent.name)


def _is_picture(folder, images):
    """Function from a text to whether it names a file in the data folder, or in a folder there."""

    inside = [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []
    locators = [locator(folder, place) for place in (images, *inside)]

    def is_file(name):
        return bool(name) and any(not locate(name)[1] for locate in locators)

    return is_file


def _folder_of_pictures(folder, file):
    """The only folder in the data folder that has a file's first pictures, or the only one of its
    split, if they are not in the data folder itself."""
    if IMAGE_FOLDER.fullmatch(file[0].name):
        return file[0].parent
    first = [record.first.strip() for _, record in islice(_records([file], [Path()]), TRIED)]
    names = [name for name in first if name]
    if _has_any(folder, folder, names):
        return folder
    inside = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    fitting = [place for place in inside if _has_any(folder, place, names)]
    split = split_in(stem_of(file[0]))
    own = [place for place in fitting if split and split_in(place.name) == split]
    return next((some[0] for some in (own, fitting) if len(some) == 1), folder)


def _has_any(folder, images, names):
    """Whether at least one picture is in a folder; some may be missing."""
    locate = locator(folder, images)
    return any(not locate(name)[1] for name in names)


def _in_splits(folder):
    """The files of records in folders of splits."""
    inside = (path for path in sorted(folder.glob("*/metadata.*")) if exact_split(path.parent.name))
    return [path for path in inside if IMAGE_FOLDER.fullmatch(path.name)]


def _check_several(folder, files, kind):
    """Raises ValueError for several files that are not one for each split."""
    splits = [_split_of(path) for path, _, _ in files]
    if len(files) > 1 and not (all(splits) and len(set(splits)) == len(splits)):
        names = ", ".join(str(path.relative_to(folder)) for path, _, _ in files)
        raise ValueError(
            f"Expected one {kind.file.split(' ', 1)[1]} in {folder} (set "
            f"--{kind.flag.replace('_', '-')}). Received: {names}"
        )


def _none_found(folder, refused, kind):
    reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10]) or " no such file"
    return (
        f"Expected {kind.file} ({kind.formats}) in {folder}, or {kind.instead}. Received:{reasons}"
    )
