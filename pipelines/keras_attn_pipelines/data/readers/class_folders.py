"""Files in a folder for each class, at the top or in split folders."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_attn_pipelines.data.data_files import files_below
from keras_attn_pipelines.data.split_names import (
    SPLIT_NAMES,
    check_named_splits,
    exact_split,
)

CLASS_FOLDERS = "a folder for each class"
NO_CLASS = "not in a class folder"


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


def has_class_folders(folder: Path, suffixes: Sequence[str]) -> bool:
    """Whether a folder has files of some suffixes in folders."""
    return any(len(parts) > 1 for _, parts in _files(folder, suffixes))


def class_files(folder: Path, suffixes: Sequence[str]) -> list[ClassFile]:
    """Files by class: `cat/a.jpg`, or `train/cat/a.jpg` if there is a split folder for train.

    Names that begin with a dot are ignored.

    Args:
        folder: data folder.
        suffixes: of the files, in lower case.
    """
    files = list(_files(folder, suffixes))
    nested = [_split(parts) for _, parts in files if len(parts) > 2]
    all_splits = len(nested) == len(files) and set(nested) <= set(SPLIT_NAMES)
    depth = int("train" in nested or (all_splits and bool(nested)))
    if depth:
        _check_split_folders(folder, nested, suffixes)
        check_named_splits(folder, set(nested), folders=False)
    else:
        _check_class_folders(folder, files)
    return [
        ClassFile(
            path,
            "/".join(parts),
            parts[depth] if len(parts) > depth + 1 else "",
            _split(parts) if depth else "",
        )
        for path, parts in files
    ]


def _check_split_folders(folder, splits, suffixes):
    """Raises ValueError for a folder of a split in which there is no class."""
    for path in sorted(folder.iterdir()):
        split = _split((path.name,))
        if split in SPLIT_NAMES and split not in splits:
            received = "none" if path.exists() else "a dangling link"
            raise ValueError(
                f"Expected class folders with {', '.join(suffixes)} files in {path} for the split "
                f"{split!r}. Received: {received}"
            )


def _check_class_folders(folder, files):
    """Raises ValueError for folders of splits in folders of classes."""
    for path, parts in files:
        for part in parts[1:-1]:
            if (split := exact_split(part)) and split != "train":
                raise ValueError(
                    f"Expected folders of splits with folders of classes in them in {folder}, such "
                    f"as {split}/{parts[0]}. Received: the split {split!r} inside a folder: {path}"
                )


def _files(folder, suffixes) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Files below a folder in order, each with the parts of its path inside it."""
    for path in files_below(folder, hidden=False):
        if path.suffix.lower() in suffixes and path.is_file():
            yield path, path.relative_to(folder).parts


def _split(parts):
    """The split named by the first folder of a path; the folder's name if it names none."""
    return exact_split(parts[0]) or parts[0]
