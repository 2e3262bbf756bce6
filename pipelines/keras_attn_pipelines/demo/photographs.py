"""Photographs inside installed packages, and the captioner that comes with the project."""

import importlib.util
from pathlib import Path

from keras_attn.progress import Progress
from keras_attn.saved.bundled import BUNDLED
from keras_attn.saved.loading import load
from keras_attn.whole_file import made_folder

CAPTIONER = BUNDLED / "flickr8k_captioner"
"""Only in a clone of the project, not in an installed package."""
PHOTOGRAPHS = (("skimage", "data/camera.png"),)
"""Package, and path inside it."""


def photographs() -> list[Path]:
    """Paths of PHOTOGRAPHS whose packages are installed; imports none of them."""
    files = []
    for package, path in PHOTOGRAPHS:
        spec = importlib.util.find_spec(package)
        if spec and spec.origin and (file := Path(spec.origin).parent / path).is_file():
            files.append(file)
    return files


def caption_photographs(out, folder=CAPTIONER) -> dict[str, str]:
    """Captions the photographs and draws where each word looked.

    Args:
        out: path of a folder; a PNG for each photograph is written there.
        folder: path of a captioner's SavedModel.

    Returns:
        dict from the name of each photograph to its caption.

    Raises:
        ValueError: no SavedModel there.
    """
    captioner, out, captions = load(folder), made_folder(Path(out)), {}
    for path in Progress.over(photographs(), "captioning photographs", "picture"):
        drawing = captioner.explain(path)
        drawing.save(out / f"{path.stem}.png")
        captions[path.name] = drawing.text
    return captions
