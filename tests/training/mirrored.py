"""Trains a tiny captioner on drawn scenes with a strategy over two logical CPUs.

Run as `python -m tests.training.mirrored STRATEGY FOLDER OUT`; writes how far each weight moved,
and the history.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import IMAGE
from keras_attn.training.devices import strategy_named
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.muon import ClippedMuon
from keras_attn.training.resume import Checkpoint
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.tasks.captioning.features import CaptionExamples, caption_batches
from tests.training import tiny


def check_checkpoint(strategy, model, out):
    """Saves everything, spoils it and brings it back."""
    checkpoint = Checkpoint(f"{out}-checkpoint.npz")
    checkpoint.save(model)
    variables = [*model.variables, *model.optimizer.variables]
    saved = [keras.ops.convert_to_numpy(variable) for variable in variables]
    for variable in variables:
        variable.assign(keras.ops.zeros_like(variable))
    with strategy.scope():
        steps = checkpoint.restore(model)
    assert (
        steps
        == int(saved[[variable.path for variable in variables].index("clipped_muon/iteration")])
        > 0
    )
    for variable, before in zip(variables, saved):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(variable), before)


def main(name, folder, out):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = strategy_named(name)
    assert strategy.num_replicas_in_sync == (2 if name == "mirrored" else 1)
    recipe = RECIPE.replaced({"image_size": 13, "vocabulary_size": 300})
    splits = recipe.source.read(folder).splits
    tokenizer = recipe.work.learn(splits["train"])["tokenizer"]
    pictures = recipe.task.pictures.picture_format()

    def batches(split):
        examples = CaptionExamples.of(splits[split], tokenizer, 1, (7, 13, 40))
        return caption_batches(examples, splits[split], pictures, 4, None, 0).dataset()

    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = tiny.captioner(tokenizer.vocabulary_size, size=(13, 13))
        model.compile(
            ClippedMuon(0.01, clip_norm=0.1, epsilon=0.01),
            TokenCrossEntropy(0.1),
            weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
    before = [keras.ops.convert_to_numpy(weight) for weight in model.weights]
    train, dev = batches("train"), batches("dev")
    assert all(inputs[IMAGE].shape[0] == 4 for inputs, _, _ in train)
    fitted = model.fit(train, validation_data=dev, epochs=2, shuffle=False, verbose=0)
    after = [keras.ops.convert_to_numpy(weight) for weight in model.weights]
    moved = np.concatenate([np.ravel(b - a) for a, b in zip(before, after)])
    check_checkpoint(strategy, model, out)
    np.savez(out, moved=moved, **{key: np.array(array) for key, array in fitted.history.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
