"""Trains a tiny recipe in a process of its own: on one device, two logical CPUs or as a worker.

Run as `python -m tests.recipes.on_devices RECIPE DATA VALUES RUN STRATEGY`; VALUES is JSON.
"""

import sys

import tensorflow as tf

from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.train import train
from tests.processes import read_values


def main(recipe, data, values, run, strategy):
    if strategy == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)
    experiment = load_recipe(recipe).replaced(read_values(values))
    train(experiment, data, run, recipe, strategy, precision="float32", verbose=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
