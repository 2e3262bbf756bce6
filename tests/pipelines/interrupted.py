"""Trains drawn scenes in a process of its own and kills it, if told so, at a step.

Run as `python -m tests.pipelines.interrupted DATA RUN STEP SECONDS WEIGHTS STRATEGY`: STEP counts
the steps of this process (0: train to the end and write the final weights to WEIGHTS), SECONDS lie
between two checkpoints, STRATEGY "mirrored" is over two logical CPUs.
"""

import os
import signal
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_attn_pipelines.recipes.scenes import Scenes
from keras_attn_pipelines.runs import train as training

RECIPE = Scenes(
    batch_size=6,
    hidden_dim=7,
    embedding_dim=3,
    attention_dim=5,
    vocabulary_size=300,
    lengths=(6, 13, 60),
    epochs=3,
    dropout=0.3,
    context="hard",
    learning_rate=0.01,
    monitor="val_loss",
    average=2,
)


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


def main(data, run, step, seconds, weights, strategy):
    if strategy == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)
    callbacks = training._callbacks
    training._callbacks = lambda *given: [*callbacks(*given), Kill(int(step), weights)]
    seconds = float(seconds)
    training.train(RECIPE, data, run, "scenes", strategy, verbose=0, checkpoint_seconds=seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
