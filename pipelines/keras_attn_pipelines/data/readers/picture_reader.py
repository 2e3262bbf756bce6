"""Reads pictures from a data folder, a file of records or a named data set: finds the files of
records, or what stands in their place, joins records and pictures, and collects unusable ones.
"""

import os
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
from keras_attn_pipelines.data.readers.picture_names import PictureNames
from keras_attn_pipelines.data.record import Record, in_language, unusable
from keras_attn_pipelines.data.record_file import left_out_note
from keras_attn_pipelines.data.skipped import Skipped, listing
from keras_attn_pipelines.data.split_names import check_refused, exact_split, split_in
from keras_attn_pipelines.data.text_lines import stem_of

IMAGES = "images"
"""The folder of pictures where none is named."""
METADATA = re.compile(r"metadata\.(csv|jsonl)")
"""The file of records beside the pictures of a split, as hubs have it."""
LEMMAS = ".lemma."
"""Part of the name of Flickr8k's file with the base forms of words, beside that with the words."""
TRIED = 20
"""How many records are tried to find the folder of their pictures."""


class FoundRecords(NamedTuple):
    """Where records of pictures are.

    Attributes:
        names: of the pictures in the data folder.
        records: the records, each with its file; they are read as they are asked for.
        source: path of the file, or of the folder, of the records.
        form: description of the format.
        left_out: names of files of test that have no second field.
    """

    names: PictureNames
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
        without_file: function from the names of pictures, and whether there are candidates, to
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
    without_file: Callable[[PictureNames, bool], FoundRecords | None]
    picture: Callable[[str, Path, tuple[str, ...], str], Any]
    is_single: bool = False


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
    from keras_attn_pipelines.data.converted_pictures import convert_pictures
    from keras_attn_pipelines.data.picture_check import Examined, examine_pictures

    found = find_pictures(data, kind, file, columns, image_folder)
    word = columns.known.words[1]
    rows = list(_located(found, columns.language, word))
    paths = (path for _, record, path in rows if not record.reason)
    examined = examine_pictures(paths, found.names.folder, cache)
    sources = {path: (path, state) for path, state in examined.items()}
    sources |= convert_pictures(examined, cache)
    usable: dict[str, list[Record]] = {}  # By what all paths to a file have in common.
    states: dict[str, tuple[Path, Examined]] = {}
    skipped = []
    for where, record, path in rows:
        source, state = sources.get(path) or (path, Examined("", ""))
        key, reason = os.path.abspath(path), record.reason
        if not reason and state.reason:
            reason = f"the picture {path} is unusable: {state.reason}"
        others = [] if reason else usable.setdefault(key, [])
        if reason := reason or _contradiction(record, others[:1], word, kind.is_single):
            skipped.append(Skipped(where, record.line, reason, record.first))
        else:
            others.append(record)
            states.setdefault(key, (source, state))
    if not usable:
        raise ValueError(
            f"Expected usable records in {found.source}. Received: none{listing(skipped)}"
        )
    pictures, splits = [], {}
    for key, records in usable.items():
        name, (path, state) = records[0].first, states[key]
        texts = tuple(record.second for record in records)
        pictures.append(kind.picture(name, path, texts, state.digest))
        splits[name] = records[0].split
    cut = frozenset(name for name, key in zip(splits, usable) if states[key][1].missing)
    read = PictureFolder(pictures, len(rows), skipped, found.source, found.form, splits, cut)
    return replace(read, root=found.names.folder, left_out=found.left_out)


def _located(found, language, word) -> Iterator[tuple[Path, Record, Path]]:
    """The records with plain names and texts, each with its file and the path of its picture."""
    for file, record in in_language(found.records, language, found.source):
        name = record.first.strip()
        path, problem = found.names.locate(name)
        reason = record.reason or unusable(word, record.second) or problem
        text = " ".join(record.second.split())
        yield file, replace(record, first=name, second=text, reason=reason), path


def _contradiction(record, first, word, is_single):
    """Why a record contradicts the first one of the same picture; '' if it does not."""
    for other in first:
        if is_single and record.second != other.second:
            return f"the {word} {record.second!r} for a picture of {other.second!r}"
        if record.split != other.split:
            return f"the split {record.split!r} for a picture of {other.split!r}"
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
    place = opened(data, kind.by_name, kind.data)
    folder, named = place.place, "" if file == AUTO else file
    if folder.is_file():
        folder, named = folder.parent, folder.name
    images = folder / image_folder if (folder / image_folder).is_dir() else folder
    names = PictureNames(folder, images)
    columns = replace(columns, is_file=names.is_any)
    path = folder / named
    if named and not path.is_file():
        raise ValueError(f"Expected {kind.file} at {path}. Received: no such file")
    if not named:
        paths = kind.candidates(folder, images)
        found, refused, without, are_guessed = record_files(paths, {folder, images}, columns)
        if (are_guessed or not found) and (instead := kind.without_file(names, bool(paths))):
            return instead
    else:
        found = [(path, *form_of(path, replace(columns, guesses=True)))]
        refused, without = {}, []
    files = [file for file in found if LEMMAS not in file[0].name] or found
    note = left_out_note([file[0].name for file in found if file not in files], "inflection")
    _check_files(folder, files, refused, kind)
    path, form, _ = files[0]
    if len(files) > 1:
        path, form = folder, f"{form} in {' and '.join(path.name for path, _, _ in files)}"
    note += left_out_note(without, f"a {columns.known.words[1]}")
    path, form = (Path(data), place.form) if place.form else (path, f"{form}{note}")
    places = [images] * len(files)
    if image_folder == IMAGES and images == folder:
        places = [_folder_of_pictures(names, *file) for file in files]
    if len(set(places)) == 1:
        names = names.at(places[0])
    records = _records(files, [place.relative_to(names.images) for place in places])
    return FoundRecords(names, records, path, form, without)


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


def metadata_of_splits(folder: Path) -> list[Path]:
    """The files of records in folders of splits."""
    inside = (path for path in sorted(folder.glob("*/metadata.*")) if exact_split(path.parent.name))
    return [path for path in inside if METADATA.fullmatch(path.name)]


def _folder_of_pictures(names, path, form, read):
    """The folder that has a file's first pictures, as far as it can be told."""
    if METADATA.fullmatch(path.name):
        return path.parent
    first = {record.first.strip() for record in islice(read(), TRIED)}
    return names.only_folder(first, split_in(stem_of(path)))
