"""Finds the pictures that records name, however the names are spelled."""

import functools
import os
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.data_files import way_out


def locator(folder: Path, images: Path) -> Callable[[str], tuple[Path, str]]:
    """Function from the name of a picture to its path, and to the reason why it is unusable.

    Dot segments, backslashes, upper and lower case and Unicode's normal forms make no difference
    where a file has no name that is equal to the letter.

    Args:
        folder: data folder.
        images: folder of the pictures.
    """
    spelled = functools.cache(_spellings)

    def path_of(name):
        return _path_of((images, folder), name, spelled)

    return functools.cache(path_of)


def identity(path: Path) -> str:
    """What two paths to the same entry of a folder have in common; links count as they are."""
    return os.path.abspath(path)


def folded(name: str) -> str:
    """What all spellings of a name in upper and lower case and normal forms have in common."""
    return unicodedata.normalize("NFC", name).casefold()


def _spellings(folder):
    """The names in a folder by what they have in common with other spellings."""
    names: dict[str, list[str]] = {}
    for entry in os.scandir(folder) if folder.is_dir() else ():
        names.setdefault(folded(entry.name), []).append(entry.name)
    return names


def _spelled_otherwise(folder, name, spelled) -> Path | None:
    """The only file of another spelling; None if there is none.

    Raises:
        ValueError: there are several.
    """
    path = folder
    for part in name.replace("\\", "/").split("/"):
        if part in ("", ".", ".."):
            path = path / part
            continue
        others = [part] if os.path.lexists(path / part) else spelled(path).get(folded(part), [])
        if len(others) > 1:
            raise ValueError(f"it may be {' or '.join(sorted(others))}")
        if not others:
            return None
        path = path / others[0]
    return path if path.is_file() else None


def _path_of(folders: Sequence[Path], name, spelled):
    """The path of a picture by its name, and the reason it is unusable."""
    images, folder = folders
    path = images / name
    if not name:
        return path, "no picture named"
    try:
        exact = (place / name for place in folders)
        path = next((candidate for candidate in exact if candidate.is_file()), path)
        if not path.is_file():
            others = (_spelled_otherwise(place, name, spelled) for place in folders)
            path = next(filter(None, others), path)
        if not path.is_file() and not Path(name).suffix:  # An id without its suffix.
            own = [images / f"{name}{suffix}" for suffix in PICTURE_SUFFIXES]
            found = [candidate for candidate in own if candidate.is_file()]
            path = found[0] if len(found) == 1 else path
        if reason := way_out(path, folder):
            return path, f"the path {name!r} is {reason}"
        return path, "" if path.is_file() else f"no picture at {path}"
    except (OSError, RuntimeError, ValueError) as error:
        return path, f"no picture at {name!r:.80}: {error}"
