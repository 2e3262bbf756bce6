"""Folders of small pictures for tests of reading."""

import numpy as np
from PIL import Image


def pictures(folder, names=("a.png", "b.png")):
    """Writes 7 x 5 pictures of one gray each; the folder is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, name in enumerate(names):
        Image.fromarray(np.full((5, 7, 3), 23 * index, "uint8")).save(folder / name)
    return folder
