"""Files in a folder for each class, at the top or in split folders."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_attn_pipelines.data.data_files import files_below
from keras_attn_pipelines.data.split_names import (
    SPLIT_NAMES,
    check_named_splits,
    exact_split,
    split_in,
)

CLASS_FOLDERS = "a folder for each class"
NO_CLASS = "not in a class folder"
UNLABELED = ("unsup", "unlabeled", "unlabelled")
"""Folders beside those of classes that are no class, such as IMDB's."""


class ClassFile(NamedTuple):
    """A file of a class.

    Attributes:
        path: its path.
        name: its path inside the data folder.
        label: name of its class's folder; '' if it is in none.
        split: "train", "dev", "test" or another folder's name; '' where folders are no splits.
    """

    path: Path
    name: str
    label: str
    split: str


def has_class_folders(folder: Path, suffixes: Sequence[str], of_splits: bool = True) -> bool:
    """Whether a folder has files of some suffixes in folders.

    Args:
        folder: data folder.
        suffixes: of the files, in lower case.
        of_splits: whether files count that are in nothing but a folder named for a split.
    """
    return any(
        len(parts) > 2 or (len(parts) > 1 and (of_splits or not _split_of_folder(parts[0])))
        for _, parts in _files(folder, suffixes)
    )


def class_files(folder: Path, suffixes: Sequence[str]) -> list[ClassFile]:
    """Files by class: `cat/a.jpg`, or `train/cat/a.jpg` if there is a split folder for train.

    Names that begin with a dot are ignored.

    Args:
        folder: data folder.
        suffixes: of the files, in lower case.
    """
    files = list(_files(folder, suffixes))
    wrapped = _wrapped(files)
    worded = all(_split_of_folder(parts[wrapped]) for _, parts in files)

    def split(parts):
        """The split of the first folder; a word of its name counts if each folder has one."""
        name = parts[wrapped]
        return (worded and split_in(name)) or exact_split(name) or name

    nested = [split(parts) for _, parts in files if len(parts) > wrapped + 2]
    all_splits = len(nested) == len(files) and set(nested) <= set(SPLIT_NAMES)
    depth = wrapped + 1 if "train" in nested or (all_splits and nested) else 0
    if depth:
        depth += _repeated(files, depth)
        folder = folder.joinpath(*files[0][1][:wrapped])
        _check_split_folders(folder, nested, suffixes)
        _check_classes(folder, files, depth, split)
        check_named_splits(folder, set(nested), folders=False)
    else:
        _check_class_folders(folder, files)
        classes = {parts[0] for _, parts in files if len(parts) > 1} - set(UNLABELED)
        if len(classes) == 1 or all(map(_split_of_folder, classes)):
            raise ValueError(
                f"Expected a folder for each of at least two classes in {folder}. Received: "
                f"{', '.join(sorted(classes))}"
            )
    found = []
    for path, parts in files:
        label = parts[depth] if len(parts) > depth + 1 else ""
        if label.lower() not in UNLABELED:
            found.append(ClassFile(path, "/".join(parts), label, split(parts) if depth else ""))
    return found


def class_form(folder: Path) -> str:
    """The name of the layout, with the folders that are left out."""
    entries = [path.name for path in (*folder.glob("*"), *folder.glob("*/*")) if path.is_dir()]
    left_out = sorted({name for name in entries if name.lower() in UNLABELED})
    return f"{CLASS_FOLDERS}, {' and '.join(left_out)} left out" if left_out else CLASS_FOLDERS


def _check_classes(folder, files, depth, split):
    """Raises ValueError for a class of which train alone has a folder, unless the other splits are
    too small to tell. Pictures of a class that train lacks are skipped later, and listed."""
    splits: dict[str, set[str]] = {}
    for path, parts in files:
        root = path.parents[len(parts) - depth - 1]
        if len(parts) > depth + 1 and split(parts) not in splits:
            classes = {entry.name for entry in root.iterdir() if entry.is_dir()}
            splits[split(parts)] = {name for name in classes if name.lower() not in UNLABELED}
    classes = splits.pop("train", set())
    others = set().union(*splits.values())
    if len(others) > 1 and (alone := sorted(classes - others)):
        raise ValueError(
            f"Expected the same class folders in the splits of {folder}. Received: "
            f"{', '.join(alone[:5])} in train alone"
        )


def _wrapped(files):
    """1 where all files are in one folder whose own folders are named for splits, otherwise 0."""
    tops = {parts[0] for _, parts in files}
    below = {exact_split(parts[1]) for _, parts in files if len(parts) > 3}
    is_wrapper = len(tops) == 1 and not _split_of_folder(*tops) and "train" in below
    return int(is_wrapper and all(len(parts) > 3 for _, parts in files))


def _repeated(files, depth):
    """1 where each folder of a split has nothing but another folder of the same split, as archives
    that are unpacked into a folder of their name; otherwise 0."""
    again = (
        len(parts) > depth + 2
        and _split_of_folder(parts[depth]) == _split_of_folder(parts[depth - 1]) != ""
        for _, parts in files
    )
    return int(all(again))


def _split_of_folder(name):
    """The split that a folder is named for; '' if none."""
    return exact_split(name) or split_in(name)


def _check_split_folders(folder, splits, suffixes):
    """Raises ValueError for a folder of a split in which there is no class."""
    for path in sorted(folder.iterdir()):
        if (split := exact_split(path.name)) and split not in splits:
            received = "none" if path.exists() else "a dangling link"
            raise ValueError(
                f"Expected class folders with {', '.join(suffixes)} files in {path} for the split "
                f"{split!r}. Received: {received}"
            )


def _check_class_folders(folder, files):
    """Raises ValueError for folders of splits in folders of classes."""
    for path, parts in files:
        splits = {exact_split(part) for part in parts[1:-1]} - {"", "train"}
        for split in sorted(splits):
            raise ValueError(
                f"Expected folders of splits with folders of classes in them in {folder}, such "
                f"as {split}/{parts[0]}. Received: the split {split!r} inside a folder: {path}"
            )


def _files(folder, suffixes) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Files below a folder in order, each with the parts of its path inside it."""
    for path in files_below(folder, hidden=False):
        if path.suffix.lower() in suffixes and path.is_file():
            yield path, path.relative_to(folder).parts
