"""Activations of the feed-forward net equal their formulas, in a decoding loop too."""

import math

import numpy as np
import pytest

from keras_attn.layers import FeedForward, TransformerEncoderBlock

FORMULAS = {
    "quick_gelu": lambda x: x / (1 + math.exp(-1.702 * x)),
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "silu": lambda x: x / (1 + math.exp(-x)),
}
INPUTS = np.random.default_rng(7).normal(size=(2, 3, 5)).astype("float32")


def twin(layer, inputs):
    hidden_kernel, output_kernel, hidden_bias, output_bias = (
        np.array(weight, "float64") for weight in layer.get_weights()
    )
    hidden = np.vectorize(FORMULAS[layer.activation])(inputs @ hidden_kernel + hidden_bias)
    return hidden @ output_kernel + output_bias


@pytest.mark.parametrize("activation", FORMULAS)
def test_activations(activation):
    layer = FeedForward(7, activation=activation)
    layer.build(INPUTS.shape)
    layer.hidden_bias.assign(np.linspace(-3, 3, 7))
    np.testing.assert_allclose(layer(INPUTS), twin(layer, INPUTS), atol=1e-5)
    rows = INPUTS.reshape(6, 5)
    stepped = layer.apply(rows, layer.loop_kernels())
    np.testing.assert_allclose(stepped, twin(layer, rows), atol=1e-5)


@pytest.mark.parametrize("use_bias", [True, False])
def test_gated(use_bias):
    layer = FeedForward(7, activation="silu", gated=True, use_bias=use_bias)
    layer.build(INPUTS.shape)
    for weight in layer.weights:
        weight.assign(np.random.default_rng(3).normal(size=weight.shape))
    named = {weight.name: np.array(weight, "float64") for weight in layer.weights}
    assert len(named) == (6 if use_bias else 3)

    def product(inputs, name):
        return inputs @ named[f"{name}_kernel"] + named.get(f"{name}_bias", 0)

    gate = np.vectorize(FORMULAS["silu"])(product(INPUTS, "gate"))
    expected = product(gate * product(INPUTS, "hidden"), "output")
    np.testing.assert_allclose(layer(INPUTS), expected, rtol=1e-4, atol=1e-5)
    stepped = layer.apply(INPUTS.reshape(6, 5), layer.loop_kernels())
    np.testing.assert_allclose(stepped, expected.reshape(6, 5), rtol=1e-4, atol=1e-5)


def test_the_two_of_gelu_differ():
    exact, approximate = (FORMULAS[name](1.0) for name in ("gelu", "gelu_tanh"))
    assert 1e-5 < abs(exact - approximate) < 1e-3


@pytest.mark.parametrize(
    "make", [FeedForward, lambda n, **k: TransformerEncoderBlock(2, 3, 3, n, **k)]
)
def test_other_activations(make):
    message = (
        r"activation in \('relu', 'gelu', 'gelu_tanh', 'quick_gelu'\) or one of Keras'\. "
        r"Received: activation='swash'"
    )
    with pytest.raises(ValueError, match=message):
        make(7, activation="swash")
