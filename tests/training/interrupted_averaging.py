"""Trains a small net with an average of its weights in a process of its own, killed if told so.

Run as `python -m tests.training.interrupted_averaging FOLDER STEP EVERY`: STEP counts the steps of
this process (0: not killed), EVERY those between snapshots (0: the ends of epochs).
"""

import os
import signal
import sys
from pathlib import Path

import keras
import numpy as np

from keras_attn.training.averaging import AverageModel
from keras_attn.training.resume import Checkpoint

STEPS, EPOCHS = 5, 4


class Kill(keras.callbacks.Callback):
    """Ends the process as `kill -9` does, after so many steps."""

    def __init__(self, step):
        super().__init__()
        self.left = step

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main(folder, step, every):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    folder = Path(folder)
    average = AverageModel(folder / "average.keras", count=3, every=int(every) or None)
    checkpoint = Checkpoint(folder / "checkpoint.npz", seconds=0.02, keeps=[average])
    random = np.random.default_rng(7)
    inputs = random.normal(size=(STEPS * EPOCHS, 3)).astype("float32")
    targets = inputs[:, :2] * [2, -3]
    done = checkpoint.restore(model)
    callbacks = [average, Kill(int(step)), checkpoint]
    while done < STEPS * EPOCHS:
        rest = slice(done, (done // STEPS + 1) * STEPS)
        options = {"batch_size": 1, "shuffle": False, "verbose": 0, "callbacks": callbacks}
        model.fit(inputs[rest], targets[rest], **options)
        done = rest.stop


if __name__ == "__main__":
    main(*sys.argv[1:])
