"""The estimators of hard attention's gradient equal slow ones."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.layers import DotAttention, LocationSampler, SampledAttention
from keras_attn.ops.reinforce import leave_one_out

WEIGHTS = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 0.0], [0.7, 0.0, 0.3], [0.1, 0.6, 0.3]], "float32")
GUMBEL = np.random.default_rng(5).gumbel(size=(4, 3)).astype("float32")
DRAW = GUMBEL, np.array([False, False, False, True])


def test_each_sample_has_the_mean_of_the_others_as_its_baseline():
    rewards = np.random.default_rng(3).normal(size=(6, 5)).astype("float32")
    advantages = np.array(leave_one_out(ops.convert_to_tensor(rewards), 3))
    for row, step in np.ndindex(6, 5):
        others = [other for other in range(6) if other // 3 == row // 3 and other != row]
        expected = rewards[row, step:].sum() - np.mean([rewards[o, step:].sum() for o in others])
        np.testing.assert_allclose(advantages[row, step], expected, atol=1e-6)


@pytest.mark.parametrize("temperature", [None, 0.5])
def test_shares_are_one_location_or_the_weights(temperature):
    sampler = LocationSampler(gumbel_temperature=temperature)
    shares = np.array(sampler.shares(ops.convert_to_tensor(WEIGHTS), DRAW))
    expected = np.zeros((4, 3))
    for row in (0, 2):
        expected[row, np.argmax(np.log(WEIGHTS[row] + 1e-30) + GUMBEL[row])] = 1.0
    expected[3] = WEIGHTS[3]
    np.testing.assert_allclose(shares, expected, atol=1e-6)
    likeliest = np.array(sampler.shares(ops.convert_to_tensor(WEIGHTS)))
    np.testing.assert_array_equal(likeliest, [[0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("temperature", [None, 0.5, 2.0])
def test_the_straight_through_gradient_is_that_of_the_gumbel_softmax(temperature):
    sampler = LocationSampler(gumbel_temperature=temperature)
    slopes = np.random.default_rng(7).normal(size=(4, 3)).astype("float32")
    weights = tf.constant(WEIGHTS)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        total = tf.reduce_sum(slopes * sampler.shares(weights, DRAW))
    gradient = np.array(tape.gradient(total, weights))

    def relaxed(values, row):
        exponents = np.exp((np.log(values) + GUMBEL[row]) / temperature)
        return np.sum(slopes[row] * exponents / exponents.sum())

    if temperature is None:
        assert not np.any(gradient[:3])
    else:
        assert not np.any(gradient[1])  # Nothing to attend to.
        for place in range(3):
            ends = []
            for step in (1e-6, -1e-6):
                moved = WEIGHTS[0].astype("float64")
                moved[place] += step
                ends.append(relaxed(moved, 0))
            np.testing.assert_allclose(gradient[0, place], (ends[0] - ends[1]) / 2e-6, atol=1e-3)
    assert np.all(np.isfinite(gradient)) and gradient[2, 1] == 0  # No chance, no share.
    np.testing.assert_allclose(gradient[3], slopes[3])


def test_several_queries_of_a_memory_are_its_samples():
    attention = SampledAttention(DotAttention(), LocationSampler(0.0, samples=2, seed=3))
    value = np.random.default_rng(3).normal(size=(2, 5, 7)).astype("float32")
    query = np.random.default_rng(5).normal(size=(2, 2, 7)).astype("float32")
    attention.build(query.shape, value.shape)
    gumbel, expected = attention.draws(3, value)
    assert tuple(gumbel.shape) == (3, 4, 5) and tuple(expected.shape) == (3, 4)
    keys = attention.project_keys(value)
    context, weights = attention.attend(query, keys, value, draw=(gumbel[0], expected[0]))
    rows = ops.reshape(weights, (4, 5))
    places = np.array(attention.sampler.choose(rows, (gumbel[0], expected[0]))).reshape(2, 2)
    np.testing.assert_allclose(context, np.take_along_axis(value, places[..., None], 1))
