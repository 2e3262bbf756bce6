"""Names of split files and folders, and the promise that a split that is named is read."""

from collections.abc import Collection, Mapping
from pathlib import Path

from keras_attn_pipelines.data.record import stem_of, suffix_of

SPLIT_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test",),
}
_DATA = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".xml")
"""Suffixes by which files of records are known, whether or not a source reads them."""


def split_of(stem: str) -> str:
    """The split that a name stands for; '' if none.

    Example:
        >>> split_of("Val"), split_of("test_2016"), split_of("notes")
        ('dev', 'test', '')
    """
    stem = stem.lower()
    known = next((split for split, names in SPLIT_NAMES.items() if stem in names), "")
    return known or ("test" if stem.startswith("test") else "")


def check_named_splits(
    folder: Path, found: Collection[str], refused: Mapping[Path, str] | None = None
) -> None:
    """Raises ValueError for a file that is named for a split of which nothing is read.

    Rows of train would take its place, and a model would be scored on what it was trained on.

    Args:
        folder: path of the data folder.
        found: stems of the files that are read.
        refused: why other files are not, as messages.
    """
    splits = [split_of(stem) for stem in found]
    for path in sorted(folder.iterdir()):
        split = split_of(stem_of(path))
        if not split or split in splits or path.is_dir():
            continue
        if not path.exists():
            raise ValueError(f"Expected the split {split!r} at {path}. Received: a link to nothing")
        if refused and path in refused:
            raise ValueError(f"{refused[path]}; the split {split!r} cannot be read")
        if suffix_of(path) in _DATA:
            read = ", ".join(sorted(found)) or "nothing"
            raise ValueError(
                f"Expected the split {split!r} in a form as that of what is read, {read}. "
                f"Received: {path}"
            )
