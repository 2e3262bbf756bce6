"""Paths of pictures that a user names; needs no TensorFlow."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES


def expand_pictures(given: Sequence[str]) -> list[str]:
    """Folders and patterns such as `holiday/*.jpg` are expanded; those without pictures stay."""
    return [path for name in given for path in (_pictures(name) if name else ()) or [name]]


def path_error(path) -> str:
    """Why a path is not a usable input; '' if it is. The system may refuse a text as a path."""
    if path and os.path.isdir(path):
        return f"a folder without pictures ({', '.join(PICTURE_SUFFIXES)})"
    return "" if os.path.isfile(path) else "no such file"


def _pictures(named):
    """Sorted paths of the pictures in a folder, at any depth, or of those that match a pattern."""
    is_folder = os.path.isdir(named)
    if os.path.isfile(named) or not (is_folder or glob.has_magic(named)):
        return []
    inside = Path(named).rglob("*") if is_folder else map(Path, glob.glob(named, recursive=True))
    return sorted(
        str(entry)
        for entry in inside
        if entry.suffix.lower() in PICTURE_SUFFIXES and entry.is_file()
    )
