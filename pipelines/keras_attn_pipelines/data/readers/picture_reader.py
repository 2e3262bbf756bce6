"""Reads pictures from a data folder, a file of records or a named data set: finds the files of
records, or what stands in their place, joins records and pictures, and collects unusable ones.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from keras_attn_pipelines.data.columns import AUTO, Columns
from keras_attn_pipelines.data.picture_folder import PictureFolder
from keras_attn_pipelines.data.readers.forms import Found, form_of, record_files
from keras_attn_pipelines.data.readers.opened import opened
from keras_attn_pipelines.data.readers.picture_names import identity, locator
from keras_attn_pipelines.data.record import Record, in_language, unusable
from keras_attn_pipelines.data.record_file import left_out_note
from keras_attn_pipelines.data.skipped import Skipped, listing
from keras_attn_pipelines.data.split_names import check_refused, exact_split, split_in
from keras_attn_pipelines.data.text_lines import stem_of

IMAGES = "images"
"""The folder of pictures where none is named."""
METADATA = re.compile(r"metadata\.(csv|jsonl)")
"""The file of records beside the pictures of a split, as hubs have it."""
TRIED = 20
"""How many records are tried to find the folder of their pictures."""


class FoundRecords(NamedTuple):
    """Where records of pictures are.

    Attributes:
        folder: path of the data folder.
        images: path of the folder of the pictures.
        records: the records, each with its file; they are read as they are asked for.
        source: path of the file, or of the folder, of the records.
        form: description of the format.
        left_out: names of files of test that have no second field.
    """

    folder: Path
    images: Path
    records: Iterable[tuple[Path, Record]]
    source: Path
    form: str
    left_out: Sequence[str] = ()


class PictureKind(NamedTuple):
    """What differs between captions and labels.

    Attributes:
        data: what messages call the data, such as "labeled pictures".
        file: what messages call the file of records, such as "a caption file".
        flag: flag of the command line that names the file.
        formats: formats of the file, for messages.
        instead: what a folder may hold in its place, for messages.
        by_name: function from the name of a data set to its folder.
        candidates: function from the folders of the data and of the pictures to files that may have
            records.
        without_file: function from the two folders, and whether there are candidates, to
            `FoundRecords` where no file has records; None if there are none.
        picture: function from name, path, texts of the records and digest to a picture.
        is_single: whether all records of a picture must have the same text.
    """

    data: str
    file: str
    flag: str
    formats: str
    instead: str
    by_name: Callable[[str], Path]
    candidates: Callable[[Path, Path], Sequence[Path]]
    without_file: Callable[[Path, Path, bool], FoundRecords | None]
    picture: Callable[[str, Path, tuple[str, ...], str], Any]
    is_single: bool = False


class Located(NamedTuple):
    """A record with the path of its picture.

    Attributes:
        file: file of the record.
        record: `Record`.
        path: path of the picture.
        reason: why it is unusable, or ''.
        digest: digest of the picture's bytes, see `Examined`.
        is_cut: whether the picture is cut short.
        source: path that the picture is read from: of the PNG that it was converted to, if any.
    """

    file: Path
    record: Record
    path: Path
    reason: str
    digest: str = ""
    is_cut: bool = False
    source: Path = Path()

    @property
    def name(self) -> str:
        """The picture's name in the record."""
        return self.record.first.strip()

    @property
    def text(self) -> str:
        """The caption or the label."""
        return " ".join(self.record.second.split())


def read_pictures(
    data,
    kind: PictureKind,
    file: str,
    columns: Columns,
    image_folder: str = IMAGES,
    cache=None,
) -> PictureFolder:
    """Reads the pictures that `find_pictures` finds.

    All pictures are decoded once to find the unreadable ones; see `examine_pictures`.

    Args:
        data: see `find_pictures`, as the next ones.
        kind: `PictureKind`.
        file: name of the file of records.
        columns: `Columns`, with the language of the records.
        image_folder: folder of the pictures.
        cache: folder of cached picture checks; in the user's cache if None.

    Returns:
        `PictureFolder`; pictures in the order of their records, unusable records in `skipped`.

    Raises:
        ValueError: see `find_pictures`; several languages; nothing usable.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    found = find_pictures(data, kind, file, columns, image_folder)
    rows = _located(found, columns, cache)
    usable: dict[str, list[Located]] = {}
    skipped = []
    for row in rows:
        others = [] if row.reason else usable.setdefault(identity(row.path), [])
        if reason := row.reason or _contradiction(row, others[:1], columns, kind.is_single):
            skipped.append(Skipped(row.file, row.record.line, reason, row.name))
        else:
            others.append(row)
    if not usable:
        raise ValueError(
            f"Expected usable records in {found.source}. Received: none{listing(skipped)}"
        )
    pictures = [
        kind.picture(
            first.name, first.source, (first.text, *(row.text for row in more)), first.digest
        )
        for first, *more in usable.values()
    ]
    return PictureFolder(
        pictures,
        len(rows),
        skipped,
        found.source,
        found.form,
        splits={first.name: first.record.split for first, *_ in usable.values()},
        cut=frozenset(first.name for first, *_ in usable.values() if first.is_cut),
        root=found.folder,
        left_out=found.left_out,
    )


def _located(found, columns, cache) -> list[Located]:
    """The records with their pictures, as `examine_pictures` judges these."""
    locate, second = locator(found.folder, found.images), columns.known.words[1]
    rows = []
    for file, record in in_language(found.records, columns.language, found.source):
        path, problem = locate(record.first.strip())
        reason = record.reason or unusable(second, record.second) or problem
        rows.append(Located(file, record, path, reason))
    from keras_attn_pipelines.data.converted_pictures import convert_pictures
    from keras_attn_pipelines.data.picture_check import examine_pictures

    examined = examine_pictures((row.path for row in rows if not row.reason), found.folder, cache)
    read = {path: (path, state) for path, state in examined.items()}
    read |= convert_pictures(examined, cache)
    return [row if row.reason else _examined(row, *read[row.path]) for row in rows]


def _examined(row, source, state):
    """A record with the result of checking its picture."""
    reason = state.reason and f"the picture {row.path} is unusable: {state.reason}"
    return row._replace(reason=reason, digest=state.digest, is_cut=state.missing > 0, source=source)


def _contradiction(row, first, columns, is_single):
    """Why a record contradicts the first one of the same picture; '' if it does not."""
    for other in first:
        if is_single and row.text != other.text:
            return f"the {columns.known.words[1]} {row.text!r} for a picture of {other.text!r}"
        if row.record.split != other.record.split:
            return f"the split {row.record.split!r} for a picture of {other.record.split!r}"
    return ""


def find_pictures(
    data, kind: PictureKind, file: str, columns: Columns, image_folder: str = IMAGES
) -> FoundRecords:
    """Finds the records of pictures, of which it reads no more than the first ones.

    Args:
        data: path of a data folder or of a file of records in it, or "tfds:NAME[/CONFIG]".
        kind: `PictureKind`.
        file: name of the file of records inside the folder; "auto" for the only one, or one for
            each split.
        columns: of the records.
        image_folder: folder of the pictures, relative to the data folder. Names are looked up there
            if it exists, then in the data folder.

    Raises:
        ValueError: no file of records and nothing instead, several, or a missing column.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    place = opened(data, kind.by_name)
    folder, named = place.folder, place.named or ("" if file == AUTO else file)
    if not named and not folder.is_dir():
        raise ValueError(f"Expected {kind.data} at {folder}. Received: no such file or folder")
    images = folder / image_folder if (folder / image_folder).is_dir() else folder
    guessing = replace(columns, guesses=True, is_file=_names_picture(folder, images))
    without: list[str] = []
    if named:
        path = folder / named
        if not path.is_file():
            raise ValueError(f"Expected {kind.file} at {path}. Received: no such file")
        files = [(path, *form_of(path, guessing))]
    else:
        paths = [*kind.candidates(folder, images), *_in_splits(folder)]
        files, refused, without = record_files(paths, {folder, images}, columns)
        if not files and (instead := kind.without_file(folder, images, bool(paths))):
            return instead
        if not files:
            files, refused, without = record_files(paths, {folder, images}, guessing)
        _check_files(folder, files, refused, kind)
    path, form, _ = files[0]
    if len(files) > 1:
        path, form = folder, f"{form} in {' and '.join(path.name for path, _, _ in files)}"
    form = place.form or f"{form}{left_out_note(without, f'a {columns.known.words[1]}')}"
    path = Path(data) if place.form else path
    places = [images] * len(files)
    if image_folder == IMAGES and images == folder:
        places = [_folder_of_pictures(folder, file) for file in files]
    images = places[0] if len(set(places)) == 1 else folder
    records = _records(files, [place.relative_to(images) for place in places])
    return FoundRecords(folder, images, records, path, form, without)


def _check_files(folder, files, refused, kind):
    """Raises ValueError for no file of records, or several that are not one for each split."""
    if not files:
        reasons = "".join(f"\n  {reason}" for reason in [*refused.values()][:10])
        raise ValueError(
            f"Expected {kind.file} ({kind.formats}) in {folder}, or {kind.instead}. "
            f"Received:{reasons or ' no such file'}"
        )
    splits = [_split_of(path) for path, _, _ in files]
    if len(files) > 1 and not (all(splits) and len(set(splits)) == len(splits)):
        names = ", ".join(str(path.relative_to(folder)) for path, _, _ in files)
        raise ValueError(
            f"Expected one {kind.file.split(' ', 1)[1]} in {folder} (set {kind.flag}). "
            f"Received: {names}"
        )
    check_refused(refused)


def _records(files: Sequence[Found], inside) -> Iterator[tuple[Path, Record]]:
    """The records of files, of which several name a split each.

    Args:
        files: as `record_files` finds them.
        inside: of each, where the pictures are inside the folder of pictures.
    """
    for (path, _, read), place in zip(files, inside):
        split = _split_of(path) if len(files) > 1 or METADATA.fullmatch(path.name) else ""
        for record in read():
            first = (place / record.first.strip()).as_posix() if place.parts else record.first
            yield path, replace(record, first=first, split=split or record.split)


def _split_of(path):
    """The split that a file of records is named for, or that its folder is."""
    return split_in(stem_of(path)) or exact_split(path.parent.name)


def _in_splits(folder):
    """The files of records in folders of splits."""
    inside = (path for path in sorted(folder.glob("*/metadata.*")) if exact_split(path.parent.name))
    return [path for path in inside if METADATA.fullmatch(path.name)]


def _folders_in(folder):
    return sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []


def _names_picture(folder, images):
    """Function from a text to whether it names a file in the data folder, or in a folder there."""
    locators = [locator(folder, place) for place in (images, *_folders_in(folder))]

    def is_file(name):
        return bool(name) and any(not locate(name)[1] for locate in locators)

    return is_file


def _folder_of_pictures(folder, file):
    """The only folder in the data folder that has a file's first pictures, or the only one of its
    split, if they are not in the data folder itself."""
    if METADATA.fullmatch(file[0].name):
        return file[0].parent
    names = {record.first.strip() for _, record in islice(_records([file], [Path()]), TRIED)} - {""}

    def has_any(place):
        """Whether at least one picture is in a folder; some may be missing."""
        locate = locator(folder, place)
        return any(not locate(name)[1] for name in names)

    if has_any(folder):
        return folder
    fitting = list(filter(has_any, _folders_in(folder)))
    split = split_in(stem_of(file[0]))
    own = [place for place in fitting if split and split_in(place.name) == split]
    return next((some[0] for some in (own, fitting) if len(some) == 1), folder)
