"""Files of a data folder; links lead out of it only where the user allows it."""

import os
from collections.abc import Iterator
from pathlib import Path

FOLLOW_LINKS = "KERAS_ATTN_FOLLOW_LINKS"
"""Environment variable: 1 where links in a data folder may lead out of it."""


def way_out(path, *folders) -> str:
    """How a path leads out of its folders; '' if it does not.

    Links count where they lead to, unless the user allows them to lead out. The folders themselves
    may be links.
    """
    if not _is_in(path, folders, os.path.abspath):
        return "outside the folder"
    if follows_links() or _is_in(path, folders, os.path.realpath):
        return ""
    return f"a link that leads out of the folder (set {FOLLOW_LINKS}=1 to allow it)"


def _is_in(path, folders, real):
    place = Path(real(path))
    return any(place.is_relative_to(real(folder)) for folder in folders)


def follows_links() -> bool:
    """Whether links in a data folder may lead out of it.

    Raises:
        ValueError: the environment variable is neither 0 nor 1.
    """
    value = os.environ.get(FOLLOW_LINKS, "") or "0"
    if value not in ("0", "1"):
        raise ValueError(f"Expected {FOLLOW_LINKS} to be 0 or 1. Received: {value!r}")
    return value == "1"


def check_inside(path: Path, *folders: Path) -> Path:
    """A file of a data folder, or of another of some folders, as it is.

    Raises:
        ValueError: it leads out ("Expected a file in data. Received: data/train.en, a link that
            leads out of the folder (set KERAS_ATTN_FOLLOW_LINKS=1 to allow it)").
    """
    if reason := way_out(path, *folders):
        raise ValueError(f"Expected a file in {folders[0]}. Received: {path}, {reason}")
    return path


def files_below(folder: Path, hidden: bool = True) -> Iterator[Path]:
    """The files below a folder, in the order of their paths.

    Links to folders are followed where the user allows it, unless they lead back into the folder.

    Args:
        folder: path.
        hidden: whether names that begin with a dot count.

    Raises:
        ValueError: a link to a folder leads out of the data folder.
    """
    yield from _below(folder, folder, hidden, {os.path.realpath(folder)})


def _below(folder, root, hidden, entered):
    for path in sorted(folder.iterdir()):
        if not hidden and path.name.startswith("."):
            continue
        if not path.is_dir():
            yield path
            continue
        place = os.path.realpath(path)
        if path.is_symlink():
            if place in entered or Path(place).is_relative_to(os.path.realpath(root)):
                continue
            check_inside(path, root)
        entered.add(place)
        yield from _below(path, root, hidden, entered)
