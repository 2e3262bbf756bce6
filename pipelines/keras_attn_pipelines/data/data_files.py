"""Files of a data folder; links lead out of it only where the user allows it."""

import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from keras_attn_pipelines.data.split_names import check_named_splits
from keras_attn_pipelines.data.text_lines import stem_of, suffix_of

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


def files_by_stem(data, suffixes: Sequence[str], what: str, wanted: str = "") -> dict[str, Path]:
    """The files of a data folder with given suffixes, each plain or .gz; hidden ones do not count.

    Args:
        data: path of the folder, or of one file of any name.
        suffixes: such as (".csv", ".tsv").
        what: what the files hold, for errors.
        wanted: what messages call the files, with {} for the folder; their suffixes if ''.

    Returns:
        dict from the stem of a file's name ("train") to its path; the plain file, if both exist.

    Raises:
        ValueError: nothing found, or two files with the same stem.
    """
    folder = Path(data)
    if folder.is_file():
        return {stem_of(folder): folder}
    if not folder.is_dir():
        raise ValueError(f"Expected {what} at {folder}. Received: no such file or folder")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), reverse=True):
        if path.name.startswith(".") or suffix_of(path) not in suffixes or not path.is_file():
            continue
        other = found.setdefault(stem_of(path), path)
        if suffix_of(other) != suffix_of(path):
            both = f"{path.name} and {other.name}"
            raise ValueError(f"Expected one file of each name in {folder}. Received: {both}")
        found[stem_of(path)] = check_inside(path, folder)
    if not found:
        names = ", ".join(sorted(entry.name for entry in folder.iterdir())[:10]) or "nothing"
        wanted = wanted or f"{', '.join(suffixes)} files, plain or .gz, in {{}}"
        raise ValueError(f"Expected {wanted.format(folder)}. Received: {names}")
    check_named_splits(folder, found)
    return dict(sorted(found.items()))


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


def spelled_otherwise(
    folder: Path, name: str, spellings: Callable[[Path], Mapping[str, list[str]]]
) -> Path | None:
    """The only file of a name in another spelling; None if there is none.

    Dot segments, backslashes, upper and lower case and Unicode's normal forms make no difference.

    Args:
        folder: path.
        name: of a file in it, or in folders inside it.
        spellings: `spellings_in`, which may remember folders.

    Raises:
        ValueError: there are several.
    """
    path = folder
    for part in name.replace("\\", "/").split("/"):
        exists = part in ("", ".", "..") or os.path.lexists(path / part)
        others = [part] if exists else spellings(path).get(folded(part), [])
        if len(others) > 1:
            raise ValueError(f"it may be {' or '.join(sorted(others))}")
        if not others:
            return None
        path = path / others[0]
    return path if path.is_file() else None


def spellings_in(folder: Path) -> dict[str, list[str]]:
    """The names in a folder by what they have in common with other spellings."""
    names: dict[str, list[str]] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        names.setdefault(folded(entry.name), []).append(entry.name)
    return names


def folded(name: str) -> str:
    """What all spellings of a name in upper and lower case and normal forms have in common."""
    return unicodedata.normalize("NFC", name).casefold()
