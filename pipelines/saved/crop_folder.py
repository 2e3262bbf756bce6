"""What a spatial transformer read of pictures, as files."""

import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from keras_attn.contracts import CROP
from keras_attn.whole_file import check_folder, made_folder, whole_file
from keras_attn_pipelines.saved.pictures import SavedSpatialTransformer
from keras_attn_pipelines.saved.saved_model import Saved

MOST_BYTES = 200
"""Of a name, so that numbers and suffixes fit into the 255 that file systems take."""


@dataclass
class CropFolder:
    """A folder with a PNG for each picture that was asked about, named after it.

    Pictures of one name are told apart by numbers, from 2 on, in the order asked; of a name of more
    than 200 bytes the first 200 are taken. The folder is made when there is something to write.

    Attributes:
        folder: path.
        written: set of the names of files.
    """

    folder: Path
    written: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, saved: Saved, folder) -> "CropFolder":
        """The folder at a path, for the answers of a SavedModel.

        Raises:
            ValueError: a SavedModel that answers without crops, a folder that holds something, or a
                file in its place.
        """
        if not isinstance(saved, SavedSpatialTransformer):
            raise ValueError(
                "Expected a SavedModel of a spatial transformer, whose answers have crops. "
                f"Received: {saved.folder}"
            )
        path = Path(folder)
        check_folder(path)
        if entry := next(path.iterdir(), None) if path.exists() else None:
            raise ValueError(f"Expected a new or empty folder for crops. Received: {entry} in it")
        return cls(path)

    def write(self, asked: str, answer: dict) -> str:
        """Writes what was read of the picture at a path; returns the path of the file."""
        stem = os.fsencode(Path(asked).stem)[:MOST_BYTES].decode(errors="ignore")
        more = (f"{stem}-{number}.png" for number in itertools.count(2))
        names = itertools.chain([f"{stem}.png"], more)
        name = next(name for name in names if name not in self.written)
        self.written.add(name)
        with whole_file(made_folder(self.folder) / name) as partial:
            Image.fromarray(answer[CROP]).save(partial, "PNG")
        return str(self.folder / name)
