"""The Transformer's loss: that of a slow twin, whatever the padding and on however many devices."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS
from keras_attn.training.losses import TokenCrossEntropy
from tests.models.tiny_transformer import VOCABULARY, batch, transformer
from tests.processes import run_module
from tests.reference import transformer as twin


def data():
    """A batch, targets and weights; targets of 4, 1 and 5 tokens."""
    inputs = batch()
    targets = np.random.default_rng(5).integers(1, VOCABULARY, (3, 5)).astype("int32")
    for row, length in enumerate((4, 1, 5)):
        inputs[TOKENS][row, length:] = targets[row, length:] = PAD_ID
    return inputs, targets, (targets != PAD_ID).astype("float32")


def slow_loss(model, inputs, targets, smoothing):
    """Row by row without any padding, in float64."""
    slow, losses = twin.Twin(twin.parameters(model), model.config), []
    for source, tokens, wanted in zip(inputs[SOURCE], inputs[TOKENS], targets):
        length = np.sum(wanted != PAD_ID)
        logits, _ = slow.run(source[source != PAD_ID], tokens[:length])
        for row, target in zip(logits, wanted):
            chances = np.exp(row) / np.exp(row).sum()
            smooth = np.full(VOCABULARY, smoothing / VOCABULARY)
            smooth[target] += 1 - smoothing
            losses.append(-np.sum(smooth * np.log(chances)))
    return np.mean(losses)


def loss_and_gradients(model, inputs, targets, weights):
    with tf.GradientTape() as tape:
        loss = TokenCrossEntropy(0.2)(targets, model(inputs)[LOGITS], weights)
    variables = [weight.value for weight in model.trainable_weights]
    gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
    return float(loss), [np.array(tf.convert_to_tensor(gradient)) for gradient in gradients]


def test_equals_its_twin():
    model, (inputs, targets, weights) = transformer(num_layers=1), data()
    loss, _ = loss_and_gradients(model, inputs, targets, weights)
    np.testing.assert_allclose(loss, slow_loss(model, inputs, targets, 0.2), rtol=1e-5)


def test_padding_changes_neither_loss_nor_gradient():
    model, (inputs, targets, weights) = transformer(), data()
    loss, gradients = loss_and_gradients(model, inputs, targets, weights)

    def padded(array, width):
        return np.pad(array, [(0, 2), (0, width)])

    wide = {SOURCE: padded(inputs[SOURCE], 3), TOKENS: padded(inputs[TOKENS], 4)}
    again = loss_and_gradients(model, wide, padded(targets, 4), padded(weights, 4))
    np.testing.assert_allclose(again[0], loss, rtol=1e-6)
    for gradient, expected in zip(again[1], gradients):
        np.testing.assert_allclose(gradient, expected, atol=1e-6)
    assert max(np.abs(gradient).max() for gradient in gradients) > 0.01


@pytest.mark.slow
def test_two_devices_with_uneven_tokens_equal_one(tmp_path):
    for name in ("one", "mirrored"):
        run_module("tests.training.mirrored_transformer", name, tmp_path / name)
    with np.load(tmp_path / "one.npz") as single, np.load(tmp_path / "mirrored.npz") as mirrored:
        assert set(single.files) == set(mirrored.files)
        for key in single.files:
            # With Adam's ε of 1e-9 a gradient near 0 passes on its rounding.
            np.testing.assert_allclose(single[key], mirrored[key], atol=1e-4, err_msg=key)
        for key in ("gradient", "adam", "sampled"):
            assert np.abs(single[key]).max() > 1e-2, key
