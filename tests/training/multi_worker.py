"""Trains a plain Keras model twice, and tells what the chief has, on one device or as one worker.

Run as `python -m tests.training.multi_worker STRATEGY OUT`; a worker has two logical CPUs. Batches
have 7 rows, which four replicas cannot share evenly. The last one has 3, filled up with rows of
weight 0, as data sets of the pipelines are, or not filled up; then the loss that Keras logs is not
compared, as its mean over batches is one by rows, those that were filled in for replicas included.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended

from keras_attn.training.devices import strategy_named
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam
from keras_attn.training.workers import Workers

ROWS = 21


def two_devices(_, cluster_resolver, worker_device):
    """Two CPUs, where TensorFlow takes one; of GPUs it takes all."""
    return tuple(f"{worker_device}/device:CPU:{place}" for place in range(2)), "CPU"


def data(is_filled):
    """A data set of (inputs, targets, weights)."""
    random = np.random.default_rng(3)
    inputs = random.normal(size=(ROWS, 5)).astype("float32")
    labels = random.integers(0, 3, ROWS).astype("int32")
    weights = (np.arange(ROWS) < ROWS - 4).astype("float32")
    rows = tf.data.Dataset.from_tensor_slices(({"x": inputs}, labels, weights))
    return (rows if is_filled else rows.take(ROWS - 4)).batch(7)


def fitted(strategy, is_filled):
    """History and weights."""
    keras.utils.set_random_seed(1)
    with strategy.scope():
        inputs = keras.Input((5,), name="x")
        outputs = keras.layers.Dense(3)(keras.layers.Dense(11, "relu")(inputs))
        model = keras.Model({"x": inputs}, outputs)
        model.compile(
            ClippedAdam(0.05, clip_norm=0.1),
            TokenCrossEntropy(),
            weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
    train, dev = data(is_filled), data(is_filled)
    history = model.fit(train, validation_data=dev, epochs=3, shuffle=False, verbose=0).history
    arrays = {key: np.array(values) for key, values in history.items()}
    return {**arrays, "weights": np.concatenate([np.ravel(each) for each in model.get_weights()])}


def check_told(workers):
    """All have what the chief has; differences are errors on all."""
    place = workers.cluster.place
    assert workers.told({"place": place, "text": "ä"}) == {"place": 0, "text": "ä"}
    arrays = workers.told_arrays({"a": np.full(3, 7.5 + place), "b": np.array(place)})
    assert arrays["a"].tolist() == [7.5] * 3 and arrays["b"] == 0
    workers.check_equal({"one": (1, 2), "other": "same"})
    try:
        workers.check_equal({"one": 1, "place": place})
    except ValueError as error:
        assert ("other place" if place else "others on some") in str(error)
    else:
        raise AssertionError("no error")


def main(name, out):
    if name == "multiworker":
        CollectiveAllReduceExtended._initialize_local_devices = two_devices
        cpu = tf.config.list_physical_devices("CPU")[0]
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)
    strategy = strategy_named(name)
    assert strategy.num_replicas_in_sync == (4 if name == "multiworker" else 1)
    assert strategy is strategy_named(name)
    with Workers(strategy).watched():
        if name == "multiworker":
            check_told(Workers(strategy))
        filled, uneven = fitted(strategy, True), fitted(strategy, False)
        compared = {f"uneven {key}": uneven[key] for key in uneven if "loss" not in key}
        np.savez(out, **filled, **compared)


if __name__ == "__main__":
    main(*sys.argv[1:])
