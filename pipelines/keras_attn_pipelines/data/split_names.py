"""Names of split files and folders, and a check that every named split is read."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from keras_attn_pipelines.data.text_lines import stem_of, suffix_of

SPLIT_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation", "development"),
    "test": ("test", "testing"),
}
_OF_A_SPLIT = re.compile(r"[\s_-]?(set|images|data)$")
_LIKE_DEV = re.compile(
    r"(.*[\W_])?(dev|devset|devtest|val|valset|valid|validate|validation|development|eval)([\W\d_].*)?"
)
"""Names of files and folders, in lower case, that mean dev and do not say so plainly."""
_TEST = re.compile("test(set|data)?([_.-].*|[0-9].*)?")
_NO_DATA = (
    ".py",
    ".ipynb",
    ".sh",
    ".md",
    ".log",
    ".yaml",
    ".yml",
    ".toml",
    ".cfg",
    ".html",
    ".pdf",
)
"""Suffixes of files that may be named for a split and are no data."""


def exact_split(name: str) -> str:
    """The split that a name means and no other; '' if none.

    Example:
        >>> exact_split("Val"), exact_split("trainset"), exact_split("test_2016")
        ('dev', 'train', '')
    """
    plain = _OF_A_SPLIT.sub("", name.lower())
    return next((split for split, names in SPLIT_NAMES.items() if plain in names), "")


def split_in(stem: str) -> str:
    """The only split that a word in the stem of a file's name means; '' if none or several.

    Example:
        >>> split_in("captions_train2017"), split_in("src-val"), split_in("test_train")
        ('train', 'dev', '')
    """
    splits = {exact_split(word) for word in re.findall("[a-z]+", stem.lower())} - {""}
    return splits.pop() if len(splits) == 1 else ""


def split_named(value: str) -> str:
    """The split that a record's own field names: a known one, or another by its name.

    Example:
        >>> split_named(" Validation "), split_named("restval"), split_named("unused")
        ('dev', 'train', 'unused')
    """
    plain = value.strip().lower()
    return "train" if plain == "restval" else exact_split(plain) or plain


def split_of(stem: str) -> str:
    """The split that the stem of a file's name stands for; '' if none. There may be several tests.

    Example:
        >>> split_of("Val"), split_of("test_2016"), split_of("testimonials")
        ('dev', 'test', '')
    """
    return exact_split(stem) or ("test" if _TEST.fullmatch(stem.lower()) else "")


def is_like_dev(stem: str) -> bool:
    """Whether the stem of a file's name seems to mean dev.

    Example:
        >>> is_like_dev("dev_2016"), is_like_dev("valid (1)"), is_like_dev("devices")
        (True, True, False)
    """
    return bool(_LIKE_DEV.fullmatch(stem.lower()))


def check_named_splits(
    folder: Path,
    found: Collection[str],
    refused: Mapping[Path, str] | None = None,
    folders: bool = True,
) -> None:
    """Raises ValueError for a file or folder that is named for a split and is not read.

    Rows of train would take its place, and a model would be scored on what it was trained on.

    Args:
        folder: path of the data folder.
        found: stems of the files that are read.
        refused: why other files are not, as messages.
        folders: whether folders count, too.
    """
    check_refused(refused or {})
    worded = not any(split_of(stem) == "train" for stem in found) and all(map(split_in, found))
    splits = {split_in(stem) if worded else split_of(stem) for stem in found}
    if "dev" not in splits and len(found) > 1 and (like := next(filter(is_like_dev, found), None)):
        raise ValueError(
            f"Expected dev in {folder} under a name of its own ({', '.join(SPLIT_NAMES['dev'])}). "
            f"Received: {like!r}"
        )
    for path in sorted(folder.iterdir()):
        split = exact_split(path.name.split(".")[0])
        if not split or split in splits or (path.is_dir() and not folders):
            continue
        if not path.exists():
            raise ValueError(f"Expected the split {split!r} at {path}. Received: a dangling link")
        if path.is_dir() or suffix_of(path) not in _NO_DATA:
            read = ", ".join(sorted(set(found))) or "nothing"
            raise ValueError(
                f"Expected the split {split!r} in the format of the files that are read ({read}). "
                f"Received: {path}"
            )


def check_refused(refused: Mapping[Path, str]) -> None:
    """Raises ValueError if one of the files that are not read is named for a split.

    Args:
        refused: why they are not, as messages.
    """
    for path, reason in sorted(refused.items()):
        if split := split_of(stem_of(path)) or ("dev" if is_like_dev(stem_of(path)) else ""):
            raise ValueError(f"{reason}; the split {split!r} cannot be read")
