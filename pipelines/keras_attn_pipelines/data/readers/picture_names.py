"""Finds the pictures that records name, however the names are spelled."""

import functools
from collections.abc import Iterable
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.data_files import spelled_otherwise, spellings_in, way_out
from keras_attn_pipelines.data.split_names import split_in


class PictureNames:
    """The names of pictures in a data folder.

    Dot segments, backslashes, upper and lower case and Unicode's normal forms make no difference
    where a file has no name that is equal to the letter.

    Args:
        folder: data folder.
        images: folder of the pictures. Names are looked up there, then in the data folder.
    """

    def __init__(self, folder: Path, images: Path):
        self.folder, self.images = folder, images
        self.locate = functools.cache(self._locate)
        self._spellings = functools.cache(spellings_in)

    def at(self, images: Path) -> "PictureNames":
        """The names of pictures in another folder."""
        return PictureNames(self.folder, images)

    @functools.cached_property
    def inside(self) -> list["PictureNames"]:
        """The names in each folder of the data folder."""
        folders = sorted(entry for entry in self.folder.iterdir() if entry.is_dir())
        return list(map(self.at, folders))

    def is_any(self, name: str) -> bool:
        """Whether a text names a file in the folder of the pictures, or in a folder beside it."""
        return bool(name) and any(not own.locate(name)[1] for own in (self, *self.inside))

    def only_folder(self, names: Iterable[str], split: str) -> Path:
        """The only folder in the data folder that has pictures of some names, or the only one of
        their split, if they are not in the data folder itself; some may be missing."""
        fitting = [
            own.images
            for own in (self.at(self.folder), *self.inside)
            if any(name and own.locate(name)[0].is_file() for name in names)
        ]
        if self.folder in fitting:
            return self.folder
        of_split = [place for place in fitting if split and split_in(place.name) == split]
        return next((some[0] for some in (of_split, fitting) if len(some) == 1), self.folder)

    def _locate(self, name: str) -> tuple[Path, str]:
        """The path of a picture by its name, and the reason why it is unusable."""
        path, folders = self.images / name, (self.images, self.folder)
        if not name:
            return path, "no picture named"
        try:
            exact = (place / name for place in folders)
            path = next((candidate for candidate in exact if candidate.is_file()), path)
            if not path.is_file():
                others = (spelled_otherwise(place, name, self._spellings) for place in folders)
                path = next(filter(None, others), path)
            if not path.is_file() and not Path(name).suffix:  # An id without its suffix.
                own = [self.images / f"{name}{suffix}" for suffix in PICTURE_SUFFIXES]
                found = [candidate for candidate in own if candidate.is_file()]
                path = found[0] if len(found) == 1 else path
            if reason := way_out(path, self.folder):
                return path, f"the path {name!r} is {reason}"
            return path, "" if path.is_file() else f"no picture at {path}"
        except (OSError, RuntimeError, ValueError) as error:
            return path, f"no picture at {name!r:.80}: {error}"
