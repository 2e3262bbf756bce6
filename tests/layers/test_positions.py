"""Positions equal the paper's formula, at any length and precision."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import LearnedPositions, SinusoidalPositions
from keras_attn.ops.positions import sinusoids
from tests.reference.transformer import sinusoid

INPUTS = np.random.default_rng(7).normal(size=(2, 3, 7)).astype("float32")


@pytest.mark.parametrize("units", [2, 7, 512])
def test_sinusoids_equal_the_formula(units):
    places = [0, 1, 599, 1023]
    expected = [sinusoid(place, units) for place in places]
    np.testing.assert_allclose(sinusoids(places, units), expected, atol=1e-4)


def test_sinusoids_are_exact_under_bfloat16():
    keras.config.set_dtype_policy("mixed_bfloat16")
    output = SinusoidalPositions("concatenate", 5)(np.zeros((1, 3, 2)), start_index=600)
    assert output.dtype == tf.bfloat16
    expected = [sinusoid(600 + step, 5) for step in range(3)]
    np.testing.assert_allclose(tf.cast(output[0, :, 2:], "float32"), expected, atol=4e-3)


def test_added_and_concatenated():
    table = np.array([sinusoid(place, 7) for place in range(3)])
    np.testing.assert_allclose(SinusoidalPositions()(INPUTS), INPUTS + table, atol=1e-6)
    joined = SinusoidalPositions("concatenate")(INPUTS)
    np.testing.assert_allclose(joined[1], np.concatenate([INPUTS[1], table], -1), atol=1e-6)
    layer = LearnedPositions(5)
    added = layer(INPUTS)
    (table,) = layer.get_weights()
    np.testing.assert_allclose(added, INPUTS + table[:3], atol=1e-6)


@pytest.mark.parametrize("layer", [SinusoidalPositions(), LearnedPositions(13)])
def test_from_a_start_index(layer):
    long = np.concatenate([INPUTS, INPUTS, INPUTS], axis=1)
    expected = layer(long)
    np.testing.assert_allclose(layer(INPUTS, start_index=3), expected[:, 3:6], atol=1e-6)
    output = layer(INPUTS, start_index=tf.constant([6, 3]))
    np.testing.assert_allclose(output[0], expected[0, 6:], atol=1e-6)
    np.testing.assert_allclose(output[1], expected[1, 3:6], atol=1e-6)


def test_learned_positions_end():
    layer = LearnedPositions(2)
    with pytest.raises(ValueError, match=r"Expected at most 2 positions\. Received: 3"):
        layer(INPUTS)
    late = tf.function(layer, input_signature=[tf.TensorSpec((None, None, 7))])
    late(INPUTS[:, :2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        late(INPUTS)


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: join='sum'"):
        SinusoidalPositions("sum")
    with pytest.raises(ValueError, match="Received: units=0"):
        LearnedPositions(3, "concatenate", 0)
    with pytest.raises(ValueError, match="Received: sequence_length=0"):
        LearnedPositions(0)
    for layer in (SinusoidalPositions(units=5), LearnedPositions(3, units=5)):
        with pytest.raises(ValueError, match=r"Expected units=7 .* Received: units=5"):
            layer(INPUTS)
