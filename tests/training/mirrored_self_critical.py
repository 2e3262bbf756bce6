"""Rewards a tiny captioner, on one device and on two logical CPUs, which have 3 and 1 pictures.

Run as `python -m tests.training.mirrored_self_critical OUT`; writes how far each weight moved, and
the history.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.devices import strategy_named
from keras_attn.training.losses import TokenCrossEntropy
from tests.training.test_self_critical import CAPTIONS, make


def rewarded(name, tokenizer):
    """What was learned in two steps, as arrays by name."""
    strategy = strategy_named(name)
    with strategy.scope():
        stage, batch = make(tokenizer, samples=5)
        stage.compile(keras.optimizers.SGD(1.0), TokenCrossEntropy())
    before = stage.model.get_weights()
    data = tf.data.Dataset.from_tensors((batch, batch["tokens"])).repeat(2)
    history = stage.fit(data, shuffle=False, verbose=0).history
    moved = [np.ravel(b - a) for a, b in zip(before, stage.model.get_weights())]
    return {
        "moved": np.concatenate(moved),
        **{key: np.array(array) for key, array in history.items()},
    }


def main(out):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    tokenizer = Tokenizer.learn([text for own in CAPTIONS for text in own], 300, True)
    for name in ("one", "mirrored"):
        np.savez(f"{out}/{name}.npz", **rewarded(name, tokenizer))


if __name__ == "__main__":
    main(*sys.argv[1:])
