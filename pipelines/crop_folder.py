"""What a spatial transformer read of pictures, as files."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from keras_attn.contracts import CROP
from keras_attn.whole_file import made_folder, whole_file
from pipelines.saved import Saved
from pipelines.saved_pictures import SavedSpatialTransformer


@dataclass
class CropFolder:
    """A folder with a PNG for each picture that was asked about, named after it.

    Pictures of one name are told apart by numbers, from 2 on, in the order asked.

    Attributes:
        folder: path.
        written: set of the names of files.
    """

    folder: Path
    written: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, saved: Saved, folder) -> "CropFolder":
        """Makes the folder, if there is none.

        Raises:
            ValueError: a SavedModel that answers without crops, or a folder that holds something.
            OSError: there can be no such folder.
        """
        if not isinstance(saved, SavedSpatialTransformer):
            raise ValueError(
                "Expected a SavedModel of a spatial transformer, whose answers have crops. "
                f"Received: {saved.folder}"
            )
        made = made_folder(folder)
        if found := next(made.iterdir(), None):
            raise ValueError(f"Expected a new or empty folder for crops. Received: {found} in it")
        return cls(made)

    def write(self, asked: str, answer: dict) -> None:
        """Writes what was read of the picture at a path."""
        stem = Path(asked).stem
        more = (f"{stem}-{number}.png" for number in itertools.count(2))
        names = itertools.chain([f"{stem}.png"], more)
        name = next(one for one in names if one not in self.written)
        self.written.add(name)
        with whole_file(self.folder / name) as partial:
            Image.fromarray(answer[CROP]).save(partial, "PNG")
