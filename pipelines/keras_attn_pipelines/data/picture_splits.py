"""Splits of captioned or labeled pictures."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from keras_attn_pipelines.data.data_files import check_inside, folded
from keras_attn_pipelines.data.hash_split import place_of, split_by_place
from keras_attn_pipelines.data.picture_check import naming_pictures
from keras_attn_pipelines.data.picture_folder import (
    CaptionedPicture,
    LabeledPicture,
    Picture,
    PictureFolder,
)
from keras_attn_pipelines.data.readers.class_folders import CLASS_FOLDERS
from keras_attn_pipelines.data.skipped import Skipped, listing
from keras_attn_pipelines.data.split_names import (
    SPLIT_NAMES,
    check_named_splits,
    exact_split,
    is_like_dev,
)
from keras_attn_pipelines.data.text_lines import lines_of, stem_of, suffix_of
from keras_attn_pipelines.data.training_data import Records, again_in_train, read_line

REQUIRED = ("train", "dev")
"""Splits that training needs."""
SPLIT_FILE = re.compile(r"(?:.*\.)?([a-z]+?)(?:[_-]?(?:images|list))?", re.IGNORECASE)
"""Stem of a list of pictures, such as train, train_list and Flickr_8k.trainImages."""


Split = Callable[..., dict[str, list]]
"""Function from the data path and a `PictureFolder` to lists of pictures by split."""


def picture_records(data, folder: PictureFolder, split: Split) -> Records:
    """The `Records` of a folder of pictures, for training.

    Args:
        data: path of the data.
        folder: `PictureFolder`.
        split: `Split`.
    """
    splits = split(data, folder)
    paths = [picture.path for pictures in splits.values() for picture in pictures]
    faults = functools.partial(naming_pictures, paths, folder.folder)
    lines = [read_line(folder.form, splits, folder.source)]
    lines += again_in_train(splits, "pictures", attrgetter("digest"))
    names = {picture.name for pictures in splits.values() for picture in pictures}
    if cut := len(folder.cut & names):
        are, their = ("picture is", "its") if cut == 1 else ("pictures are", "their")
        lines.append(f"{cut} {are} cut short; {their} last rows are gray")
    return Records(splits, folder.skipped, lines, naming_faults=faults)


def named_split(data, folder: PictureFolder, split: Split, name: str) -> list:
    """The pictures of a split, or of a split file of another name.

    Raises:
        ValueError: no such split, or an empty one.
    """
    splits = split(data, folder, required=())
    if name not in splits:
        path = check_inside(folder.folder / f"{name}.txt", folder.folder)
        splits[name] = listed_pictures(path, folder.pictures, folder.unusable)
    if not splits[name]:
        raise ValueError(f"Expected pictures in the split {name!r} of {data}. Received: none")
    return splits[name]


def split_pictures(
    data,
    folder: PictureFolder[Picture],
    dev_share: float = 0.1,
    test_share: float = 0.1,
    required: Sequence[str] = REQUIRED,
) -> dict[str, list[Picture]]:
    """Splits pictures into "train", "dev" and "test".

    By folders of splits, where folders of classes are in them. Otherwise by split files, if the
    folder has any (`train.txt`, `train_images.txt` and so on, one picture name per line); pictures
    in none of them are left out. Otherwise by what the records say, or by the pictures' folders, if
    these are named for splits. Where none is dev, dev and test are held out from train by the
    SHA-256 of each picture's bytes, so equal files are always in the same split.

    Args:
        data: path, as for `read_captions`.
        folder: of `read_captions` or `read_labels`.
        dev_share: share of pictures, 0 to 1.
        test_share: share of pictures, 0 to 1.
        required: splits that must not be empty.

    Returns:
        dict of the three lists; a split without a split file is empty.

    Raises:
        ValueError: a split file names a missing picture, two split files share a picture, or
            a required split comes out empty.
    """
    of_records: list[str] = [folder.splits.get(picture.name, "") for picture in folder.pictures]
    in_classes = folder.form.startswith(CLASS_FOLDERS)
    if in_classes and any(of_records):
        return _held_out(data, folder, of_records, dev_share, test_share, required)
    names = {picture.name for picture in folder.pictures}
    unlabeled: list[str] = [stem_of(Path(name)) for name in folder.left_out]
    read = {*of_records, *unlabeled} - {""}
    listed = _listed_splits(folder.folder, folder.source, names, read)
    if listed:
        split = _split_by_lists(listed, folder.pictures, folder.unusable)
        _check_split(data, split, folder.pictures, required)
        return split
    if not any(of_records) and not in_classes:
        of_records = list(map(_folder_split, folder.pictures))
        root: Path = folder.folder
        found: set[str] = {*_folder_splits(root, folder.pictures), *of_records} - {""}
        check_named_splits(root, [*found, stem_of(folder.source), *unlabeled])
    return _held_out(data, folder, of_records, dev_share, test_share, required)


def _folder_splits(root: Path, pictures: Sequence[Picture]) -> set[str]:
    """The splits that folders of pictures in the data folder are named for; one may hold all."""
    root = root.absolute()
    parents = {picture.path.absolute().parent for picture in pictures}
    inside = [path.relative_to(root).parts for path in parents if path.is_relative_to(root)]
    return {exact_split(parts[0]) for parts in inside if parts}


def _folder_split(picture: CaptionedPicture | LabeledPicture) -> str:
    """The split that a picture's folder is named for; '' if none."""
    first, *others = picture.name.split("/")
    return exact_split(first) if others else ""


def _held_out(
    data,
    folder: PictureFolder,
    in_folders: Sequence[str],
    dev_share: float,
    test_share: float,
    required: Sequence[str],
) -> dict[str, list]:
    """Pictures by their folders' splits, with dev and test held out where none is dev.

    Raises:
        ValueError: a picture of no split beside others; a required split that is empty.
    """
    split: dict[str, list] = {}
    for picture, name in zip(folder.pictures, in_folders):
        split.setdefault(name or "train", []).append(picture)
    if any(in_folders) and not all(in_folders):
        stray = folder.pictures[in_folders.index("")].name
        raise ValueError(
            f"Expected all pictures of {data} to have a split, or to be in folders of splits, as "
            f"those of {' and '.join(filter(None, dict.fromkeys(in_folders)))} are. "
            f"Received: {stray!r}"
        )
    if "dev" not in split and "train" in split:
        test_share = 0.0 if "test" in split else test_share
        split = {**_split_by_bytes(split["train"], dev_share, test_share), **_without_train(split)}
    _check_split(data, split, folder.pictures, required)
    return split


def listed_pictures(
    path, pictures: Sequence[Picture], unusable: Mapping[str, str] | None = None
) -> list[Picture]:
    """The pictures that a split file names, in its order.

    Args:
        path: path of the file, one picture name per line.
        pictures: of `read_captions` or `read_labels`.
        unusable: why other pictures were skipped, by name. They are left out, and printed with
            line and reason.

    Raises:
        ValueError: no such file, or an unknown picture name, with its line.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"Expected a split file at {path}. Received: no such file")
    by_name, chosen = {picture.name: picture for picture in pictures}, []
    left_out, unusable = [], unusable or {}
    by_file: dict[str, list[Picture]] = {}
    for line, name in enumerate(lines_of(path), 1):
        name = name.strip()
        if picture := by_name.get(name) or _spelled_otherwise(name, pictures, by_file):
            chosen.append(picture)
        elif name in unusable:
            reason = f"{name!r} was skipped: {unusable[name]}"
            left_out.append(Skipped(path, line, reason, name))
        elif name:
            raise ValueError(
                f"Expected names of pictures in the data. Received: {name!r} at {path}:{line}"
            )
    if left_out:
        print(f"pictures in {path} that are left out:{listing(left_out, most=5)}")
    return chosen


def _spelled_otherwise(name, pictures, by_file):
    """The only picture that a name means in another spelling, or with another part of its path;
    None if there is none."""
    if not by_file:
        for picture in pictures:
            by_file.setdefault(_parts(picture.name)[-1], []).append(picture)
    parts = _parts(name)
    alike = [
        picture
        for picture in by_file.get(parts[-1] if parts else "", ())
        if all(one == other for one, other in zip(parts[::-1], _parts(picture.name)[::-1]))
    ]
    return alike[0] if len(alike) == 1 else None


def _parts(name):
    """The parts of a picture's name, as far as all spellings of it have them in common."""
    parts = folded(name).replace("\\", "/").split("/")
    return [part for part in parts if part not in ("", ".")]


def _without_train(split):
    return {name: pictures for name, pictures in split.items() if name != "train"}


def _check_split(folder, split, pictures, required):
    """Raises ValueError for a required split that is empty."""
    for name in required:
        if not split.get(name):
            raise ValueError(
                f"Expected at least one picture in the split {name!r} of {folder}. "
                f"Received: none of {len(pictures)}"
            )


def _listed_splits(folder, source, names, read=()):
    """Split files of a folder, and of that of the records in it: dict from split to path; the file
    of the records is none.

    Raises:
        ValueError: two of a split, or one of `names` of pictures in a list that may mean dev.
    """
    splits: dict[str, Path] = {}
    places = {folder, source.parent} if Path(folder) in source.parents else {folder}
    for path in sorted(file for place in places for file in place.iterdir()):
        match = SPLIT_FILE.fullmatch(stem_of(path)) if suffix_of(path) == ".txt" else None
        split = exact_split(match[1]) if match and path != source else ""
        if not split:
            continue
        if not path.is_file():
            raise ValueError(f"Expected the split {split!r} at {path}. Received: no such file")
        if split in splits:
            received = f"{splits[split].name} and {path.name}"
            raise ValueError(f"Expected one list of the split {split!r}. Received: {received}")
        splits[split] = check_inside(path, folder)
    check_named_splits(folder, [*splits, *read, stem_of(source)], folders=False)
    lists = (file for place in places for file in place.glob("*.txt"))
    for path in lists if "dev" not in splits else ():
        if is_like_dev(stem_of(path)) and names & {line.strip() for line in lines_of(path)}:
            raise ValueError(
                f"Expected a list of dev under a name such as dev.txt. Received: {path}"
            )
    return splits


def _split_by_lists(listed, pictures, unusable):
    split, seen = {name: [] for name in SPLIT_NAMES}, {}
    for name, path in listed.items():
        split[name] = listed_pictures(path, pictures, unusable)
        for picture in split[name]:
            if picture.name in seen:
                raise ValueError(
                    f"Expected each picture in one split. Received: {picture.name!r} in "
                    f"{seen[picture.name]} and {path}"
                )
            seen[picture.name] = path
    return split


def _split_by_bytes(pictures, dev_share, test_share):
    places = [place_of(bytes.fromhex(picture.digest)) for picture in pictures]
    return split_by_place(pictures, places, dev_share, test_share)
