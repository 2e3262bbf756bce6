"""Trains a recipe in a process of its own and kills it, if told so, at a step.

Run as `python -m tests.pipelines.interrupted RECIPE DATA RUN STEP SECONDS WEIGHTS STRATEGY VALUES`:
STEP counts the steps of this process (0: train to the end and write the final weights to WEIGHTS),
SECONDS lie between two checkpoints, STRATEGY "mirrored" is over two logical CPUs, VALUES are of
fields, as JSON.
"""

import os
import signal
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs import train as training
from tests.processes import read_values


class Kill(keras.callbacks.Callback):
    """Ends the process as `kill -9` does, after so many steps; writes the last weights."""

    def __init__(self, step, weights):
        super().__init__()
        self.left, self.weights = step, weights

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_train_end(self, logs=None):
        arrays = [np.array(weight.value) for weight in self.model.weights]
        np.savez(self.weights, *arrays)


def main(recipe, data, run, step, seconds, weights, strategy, values):
    if strategy == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)
    experiment = load_recipe(recipe).replaced(read_values(values))
    kill, callbacks = Kill(int(step), weights), training.Fitting._callbacks
    training.Fitting._callbacks = lambda *arguments: [*callbacks(*arguments), kill]
    options = {"verbose": 0, "checkpoint_seconds": float(seconds)}
    training.train(experiment, data, run, recipe, strategy, **options)


if __name__ == "__main__":
    main(*sys.argv[1:])
