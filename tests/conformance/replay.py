"""Loads every saved model of a folder in this process and writes what it answers.

Run as `python -m tests.conformance.replay FOLDER NAME`, under any Keras backend.
"""

import sys
from pathlib import Path

import keras
import numpy as np

import tests.conformance.registry  # noqa: F401  (registers the layers)
from tests.processes import compiled


def flat(outputs):
    """Outputs of a layer as a list of NumPy arrays."""
    return [keras.ops.convert_to_numpy(array) for array in keras.tree.flatten(outputs)]


def replay(folder, name):
    """Writes NAME/<case>.npz for each <case>.keras and <case>.inputs.npz; JAX compiles each."""
    (folder / name).mkdir()
    for path in sorted(folder.glob("*.keras")):
        with np.load(folder / f"{path.stem}.inputs.npz") as arrays:
            inputs = [arrays[key] for key in arrays.files]
        model = keras.saving.load_model(path)
        np.savez(folder / name / f"{path.stem}.npz", *flat(compiled(model)(inputs)))


if __name__ == "__main__":
    replay(Path(sys.argv[1]), sys.argv[2])
