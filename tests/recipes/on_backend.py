"""Trains a tiny recipe under any backend, over one or several of its devices.

Run as `python -m tests.recipes.on_backend RECIPE DATA VALUES FOLDER NAME SHARES`; VALUES is JSON,
and a batch has a multiple of SHARES in rows. Weights begin as FOLDER/initial.npz has them, which is
written where it is missing. Writes the losses of the first steps to FOLDER/NAME.npy, then trains
into FOLDER/NAME.
"""

import sys
from itertools import islice
from pathlib import Path

import keras
import numpy as np

from keras_attn.training.devices import jit_compile_for, strategy_named
from keras_attn.training.training_stage import trained_model
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.train import train
from tests.processes import read_values

STEPS = 20


def losses(experiment, data, initial: Path, shares):
    """Losses of the first steps, float (STEPS,)."""
    prepared = prepare(experiment, data, replicas=shares)
    built = prepared.build()
    stage = prepared.compile(built, jit_compile_for("one", built.small_steps)).model
    model = trained_model(stage)
    if initial.exists():
        with np.load(initial) as weights:
            model.set_weights([weights[f"arr_{place}"] for place in range(len(weights.files))])
    else:
        np.savez(initial, *model.get_weights())
    found = []
    for inputs, targets, weights in islice(prepared.data.training(0), STEPS):
        arrays = keras.tree.map_structure(np.asarray, (inputs, targets, weights))
        stage.reset_metrics()
        logs = stage.train_on_batch(*arrays[:2], sample_weight=arrays[2], return_dict=True)
        found.append(float(logs["loss"]))
    return np.array(found)


def main(recipe, data, values, folder, name, shares):
    experiment, folder = load_recipe(recipe).replaced(read_values(values)), Path(folder)
    several = keras.backend.backend() == "jax" and len(keras.distribution.list_devices()) > 1
    strategy = "mirrored" if several else "one"
    devices = strategy_named(strategy)
    assert devices.num_replicas_in_sync in (1, int(shares))
    with devices.scope():
        found = losses(experiment, data, folder / "initial.npz", int(shares))
    np.save(folder / f"{name}.npy", found)
    train(experiment, data, folder / name, recipe, strategy, "float32", verbose=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
