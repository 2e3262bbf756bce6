"""Trains a tiny recipe in a process of its own, over one or two logical CPUs.

Run as `python -m tests.pipelines.recipes_on_devices RECIPE DATA RUN STRATEGY`.
"""

import sys

import numpy as np
import tensorflow as tf

from keras_attn_pipelines.recipes.digits_stn import DigitsSpatialTransformer
from keras_attn_pipelines.recipes.parser_transformer import ParserTransformer
from keras_attn_pipelines.recipes.translator_transformer import TranslatorTransformer
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from tests.pipelines import toy_language, toy_treebank
from tests.processes import run_module

CHOICES = {
    "epochs": 2,
    "dropout": 0.0,
    "learning_rate": 0.03,
    "warmup_steps": 3,
    "monitor": "val_loss",
    "average": 2,
}
TEXT = {**CHOICES, "batch_tokens": 112, "own_words": 0.5}
DIGITS = {**CHOICES, "batch_size": 6, "filters": 3, "dev_share": 0.2}
RECIPES = {
    "digits_stn": DigitsSpatialTransformer(**DIGITS),
    "parser_transformer": ParserTransformer(**toy_treebank.TINY, **TEXT),
    "translator_transformer": TranslatorTransformer(**toy_language.TINY, **TEXT),
}


def check_one_and_two(recipe, data, folder):
    """Training over two devices ends with the weights of training on one."""
    found = []
    for strategy in ("one", "mirrored"):
        printed = run_module(__name__, recipe, data, folder / strategy, strategy)
        assert "mean of the last 2 epochs" in printed
        found.append([np.array(one) for one in Run(folder / strategy).model().get_weights()])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-4)


def main(recipe, data, run, strategy):
    if strategy == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)
    train(RECIPES[recipe], data, run, recipe, strategy, verbose=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
