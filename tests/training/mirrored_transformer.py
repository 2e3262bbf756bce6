"""Trains a tiny Transformer with a strategy over two logical CPUs.

Run as `python -m tests.training.mirrored_transformer STRATEGY OUT`; writes the loss and gradient of
one step, the weights after some, plain and with scheduled sampling, and their average. Two devices
get 9 and 2 real tokens of the first batch, 2 rows and 1 row of the second, whose loss Keras logs by
rows rather than tokens: of the losses only the first is written.
"""

import functools
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import PAD_ID, SOURCE, START_ID, TOKENS
from keras_attn.training.averaging import AverageModel
from keras_attn.training.devices import strategy_named
from keras_attn.training.gold_shares import LinearShare
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import paper_adam
from keras_attn.training.scheduled_sampling import ScheduledSampling
from tests.models.tiny_transformer import VOCABULARY, transformer

LENGTHS = ([5, 4, 1, 1], [1, 5, 3])


def batches():
    """A data set of the two batches."""
    random, datasets = np.random.default_rng(2), []
    for lengths in LENGTHS:
        ends, rows = np.array(lengths)[:, None], len(lengths)
        source = random.integers(4, VOCABULARY, (rows, 7)).astype("int32")
        words = random.integers(4, VOCABULARY, (rows, 5)).astype("int32")
        targets = np.where(np.arange(5) < ends, words, PAD_ID)
        tokens = np.concatenate([np.full((rows, 1), START_ID), targets[:, :-1]], axis=1)
        source = np.where(np.arange(7) <= ends, source, PAD_ID)
        batch = {SOURCE: source, TOKENS: tokens.astype("int32")}
        weights = (targets != PAD_ID).astype("float32")
        datasets.append(tf.data.Dataset.from_tensors((batch, targets, weights)))
    return datasets[0].concatenate(datasets[1])


def fitted(strategy, optimizer, steps, sampling=None, **options):
    """The history's loss, and how far each weight moved."""
    with strategy.scope():
        model = transformer(num_layers=1)
        trained = ScheduledSampling(model, **sampling) if sampling else model
        trained.compile(optimizer(), TokenCrossEntropy(0.1))
    before = model.get_weights()
    data = batches().take(steps)
    history = trained.fit(data, shuffle=False, verbose=0, **options).history
    moved = [np.ravel(b - a) for a, b in zip(before, model.get_weights())]
    return np.array(history["loss"]), np.concatenate(moved)


def main(name, out):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy, path = strategy_named(name), Path(f"{out}-average.keras")
    assert strategy.num_replicas_in_sync == (2 if name == "mirrored" else 1)
    results = {}
    results["loss"], descent = fitted(strategy, lambda: keras.optimizers.SGD(1.0), 1)
    results["gradient"] = -descent
    average = AverageModel(path, count=3, every=1)
    options = {"epochs": 2, "callbacks": [average]}
    adam = functools.partial(paper_adam, 7, 5, clip_norm=0.3)
    _, results["adam"] = fitted(strategy, adam, 2, **options)
    mean = keras.saving.load_model(path, compile=False).get_weights()
    results["average"] = np.concatenate([np.ravel(array) for array in mean])
    sampling = {"share": LinearShare(0.4), "seed": 3}
    _, results["sampled"] = fitted(strategy, lambda: keras.optimizers.SGD(0.5), 2, sampling)
    np.savez(out, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
