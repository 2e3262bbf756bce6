"""Trains a tiny translator in a process of its own, over one or two logical CPUs.

Run as `python -m tests.pipelines.text_on_devices DATA RUN STRATEGY`.
"""

import sys

import tensorflow as tf

from pipelines.recipes.translator_transformer import TranslatorTransformer
from pipelines.train import train
from tests.pipelines.toy_language import TINY

RECIPE = TranslatorTransformer(
    **TINY,
    batch_tokens=112,
    epochs=2,
    dropout=0.0,
    learning_rate=0.03,
    warmup_steps=3,
    monitor="val_loss",
    average=2,
    own_words=0.5,
)


def main(data, run, strategy):
    if strategy == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)
    train(RECIPE, data, run, "translator_transformer", strategy, verbose=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
