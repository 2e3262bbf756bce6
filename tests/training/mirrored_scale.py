"""Three steps with loss scaling on two logical CPUs; in the second one replica overflows.

Run as `python -m tests.training.mirrored_scale OUT`; writes weight, scale and steps after each.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from keras_attn.training import ClippedSGD, LossScaled
from keras_attn.training.devices import strategy_named

GRADIENTS = (((16.0,), (8.0,)), ((1.0,), (np.inf,)), ((4.0,), (8.0,)))
"""By step, then by replica."""


def main(out):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = strategy_named("mirrored")
    with strategy.scope():
        weight = keras.Variable([5.0])
        optimizer = LossScaled(ClippedSGD(1.0, clip_norm=50.0), initial_scale=8.0)
        optimizer.build([weight])

    @tf.function
    def step(gradients):
        place = tf.distribute.get_replica_context().replica_id_in_sync_group
        optimizer.apply([tf.gather(gradients, place)], [weight])

    rows = []
    for gradients in GRADIENTS:
        strategy.run(step, (tf.constant(gradients),))
        values = (weight, optimizer.dynamic_scale, optimizer.iterations)
        rows.append([np.array(keras.ops.convert_to_numpy(value)) for value in values])
    names = ("weights", "scale", "iterations")
    np.savez(out, **{name: np.stack(column) for name, column in zip(names, zip(*rows))})


if __name__ == "__main__":
    main(*sys.argv[1:])
