"""The crops that a spatial transformer read, as files."""

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from keras_attn.saved.predictor import Predictor
from keras_attn.viz.declared import Samples
from keras_attn.whole_file import check_folder, made_folder, whole_file

MOST_BYTES = 200
"""Maximum length of a name, which leaves room for a number and a suffix in 255 bytes."""


@dataclass
class CropFolder:
    """A folder with a PNG for each input picture, named after it.

    Equal names are numbered from 2 on, in input order; names are cut to 200 bytes. The folder is
    created by the first write.

    Attributes:
        folder: path.
        output: name of the output with the crops.
        written: set of the names of files.
    """

    folder: Path
    output: str
    written: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, saved: Predictor, folder) -> "CropFolder":
        """The folder at a path, for the crops of a model.

        Raises:
            ValueError: a model without crops, or a folder that is not empty or is a file.
        """
        crops = [view.crop for view in saved.views if isinstance(view, Samples)]
        if not crops:
            raise ValueError(
                "Expected a model with a spatial transformer, which returns crops. "
                f"Received: {saved.folder}"
            )
        path = Path(folder)
        check_folder(path)
        if entry := next(path.iterdir(), None) if path.exists() else None:
            raise ValueError(f"Expected a new or empty folder for crops. Received: {entry} in it")
        return cls(path, crops[0])

    def write(self, asked: str, answer: Mapping[str, Any]) -> str:
        """Writes the crop of the picture at a path; returns the file's path."""
        stem = os.fsencode(Path(asked).stem)[:MOST_BYTES].decode(errors="ignore")
        more = (f"{stem}-{number}.png" for number in itertools.count(2))
        names = itertools.chain([f"{stem}.png"], more)
        name = next(name for name in names if name not in self.written)
        self.written.add(name)
        with whole_file(made_folder(self.folder) / name) as partial:
            Image.fromarray(answer[self.output]).save(partial, "PNG")
        return str(self.folder / name)
