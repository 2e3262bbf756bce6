"""Photographs inside installed packages, and the captioner that comes with the project."""

import importlib.util
from pathlib import Path

from tqdm import tqdm

from keras_attn.whole_file import made_folder
from keras_attn_pipelines.saved.predict import SavedCaptioner

CAPTIONER = Path(__file__).parents[2] / "saved_models" / "flickr8k_captioner"
"""Only in a clone of the project, not in an installed package."""
PHOTOGRAPHS = (
    ("skimage", "data/astronaut.png"),
    ("skimage", "data/chelsea.png"),
    ("skimage", "data/coffee.png"),
    ("skimage", "data/rocket.jpg"),
    ("sklearn", "datasets/images/china.jpg"),
    ("sklearn", "datasets/images/flower.jpg"),
    ("matplotlib", "mpl-data/sample_data/grace_hopper.jpg"),
)
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
    captioner, out = SavedCaptioner(folder), made_folder(Path(out))
    return {
        path.name: captioner.explain_file(path, out / f"{path.stem}.png").text
        for path in tqdm(photographs(), desc="photographs", unit="picture")
    }
