"""Local, location-based and last-state attention beside slow NumPy twins, and limits of all."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.layers import (
    AdditiveAttention,
    DotAttention,
    LastStateAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    MultiplicativeAttention,
)

B, T, S, D = 2, 5, 11, 7
RANDOM = np.random.default_rng(5)
QUERY = RANDOM.normal(size=(B, T, D)).astype("float32")
VALUE = RANDOM.normal(size=(B, S, D)).astype("float32")
LENGTHS = np.array([11, 4])
MASK = np.arange(S) < LENGTHS[:, None]
WORKED = (15.0, 60.0, 15.0, 35.0)


def softmax(scores, allowed):
    weights = np.where(allowed, np.exp(scores - np.max(scores)), 0)
    return weights / max(weights.sum(), 1e-300)


def asked(layer, query=QUERY, mask=MASK):
    options = {"value_mask": mask, "return_attention_scores": True}
    return [ops.convert_to_numpy(array) for array in layer(query, VALUE, **options)]


def check(layer, weight_of):
    context, weights = asked(layer)
    for b in range(B):
        for t in range(T):
            expected = weight_of(b, t)
            np.testing.assert_allclose(weights[b, t], expected, atol=1e-6)
            np.testing.assert_allclose(context[b, t], expected @ VALUE[b], atol=1e-5)


def test_local_m_equals_its_twin():
    def weight_of(b, t):
        center = min(t, LENGTHS[b] - 1)
        allowed = [abs(s - center) <= 2 and s < LENGTHS[b] for s in range(S)]
        return softmax(VALUE[b] @ QUERY[b, t], allowed)

    check(LocalMonotonicAttention(DotAttention(), 2), weight_of)


def test_local_p_equals_its_twin():
    keras.utils.set_random_seed(7)
    layer = LocalPredictiveAttention(DotAttention(), 3, 13, "he_normal")
    layer.build(QUERY.shape, VALUE.shape)
    kernel, vector = (weight.numpy() for weight in layer.weights)
    # Positions near both ends, so that windows clip.
    vector *= 5
    layer.position_vector.assign(vector)
    centers = []

    def weight_of(b, t):
        position = np.tanh(QUERY[b, t] @ kernel) @ vector[:, 0]
        center = LENGTHS[b] / (1 + math.exp(-position))
        centers.append(center)
        allowed = [center - 3 <= s <= center + 3 and s < LENGTHS[b] for s in range(S)]
        gauss = np.exp(-((np.arange(S) - center) ** 2) / (2 * 1.5**2))
        return softmax(VALUE[b] @ QUERY[b, t], allowed) * gauss

    check(layer, weight_of)
    assert min(centers) < 2 and max(centers) > 9


def test_location_equals_its_twin():
    layer = LocationAttention(13, "he_normal")
    layer.build(QUERY.shape, VALUE.shape)
    kernel = layer.kernel.numpy()
    check(layer, lambda b, t: softmax((QUERY[b, t] @ kernel)[:S], MASK[b]))


def test_last_state_is_one_hot():
    check(LastStateAttention(), lambda b, t: np.eye(S)[LENGTHS[b] - 1])


def test_concatenation_is_additive_attention():
    """v · tanh(W [q; k]) is v · tanh(W_q q + W_k k) with W = [W_q W_k]."""
    layer = AdditiveAttention(5)
    _, weights = asked(layer)
    stacked = np.concatenate([layer.query_kernel.numpy(), layer.key_kernel.numpy()])
    both = [np.concatenate([QUERY[1, 2], key]) for key in VALUE[1]]
    scores = np.array([np.tanh(pair @ stacked) @ layer.vector.numpy()[:, 0] for pair in both])
    np.testing.assert_allclose(weights[1, 2], softmax(scores, MASK[1]), atol=1e-6)


@pytest.mark.parametrize("window", [S, S + 6])
def test_a_window_that_covers_the_source_is_global(window):
    expected = asked(DotAttention())
    for array, other in zip(expected, asked(LocalMonotonicAttention(DotAttention(), window))):
        np.testing.assert_allclose(array, other, atol=1e-6)


def test_a_very_wide_predicted_window_is_global():
    """The Gaussian becomes flat."""
    expected = asked(DotAttention())
    for array, other in zip(expected, asked(LocalPredictiveAttention(DotAttention(), 99999, 3))):
        np.testing.assert_allclose(array, other, atol=1e-5)


@pytest.mark.parametrize(
    "layer",
    [
        LocalMonotonicAttention(MultiplicativeAttention(), 2),
        LocalPredictiveAttention(AdditiveAttention(5), 2, 3),
        LocationAttention(S + 2),
        LastStateAttention(),
    ],
    ids=["local-m", "local-p", "location", "last"],
)
def test_padding_changes_nothing_and_empty_rows_are_zero(layer):
    context, weights = asked(layer)
    cut = ops.convert_to_numpy(layer(QUERY[1:], VALUE[1:, :4]))
    np.testing.assert_allclose(context[1:], cut, atol=1e-6)
    assert not weights[1, :, 4:].any() and (weights >= 0).all()
    assert (weights.sum(-1) <= 1 + 1e-6).all()
    context, weights = asked(layer, mask=MASK & np.array([[True], [False]]))
    assert not context[1].any() and not weights[1].any() and np.isfinite(context).all()


def test_scores_of_the_lecture():
    """Four encoder states with scores 15, 60, 15 and 35."""
    states = RANDOM.normal(size=(1, 4, 3)).astype("float32")
    weights = DotAttention().attend(
        ops.ones((1, 1, 1)), ops.reshape(ops.array(WORKED), (1, 4, 1)), states
    )[1]
    expected = [2.8625e-20, 1 - 1.3888e-11, 2.8625e-20, 1.3888e-11]
    np.testing.assert_allclose(weights[0, 0], expected, rtol=1e-4)


def test_one_hot_weights_look_up_and_equal_ones_average():
    sharp = DotAttention()(QUERY * 0 + 1e4 * VALUE[:, 3:4], VALUE)
    nearest = np.argmax(VALUE @ VALUE[:, 3, :, None], axis=1)[:, 0]
    np.testing.assert_allclose(sharp[:, 0], VALUE[np.arange(B), nearest], atol=1e-5)
    flat = DotAttention()(QUERY * 0, VALUE)
    np.testing.assert_allclose(flat, np.repeat(VALUE.mean(1, keepdims=True), T, 1), atol=1e-6)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"Expected window >= 1\. Received: window=0"):
        LocalMonotonicAttention(DotAttention(), 0)
    with pytest.raises(ValueError, match="Expected a global ScoredAttention"):
        LocalMonotonicAttention(LocalMonotonicAttention(DotAttention(), 2), 2)
    with pytest.raises(ValueError, match=r"Expected units >= 1"):
        LocalPredictiveAttention(DotAttention(), 2, 0)
    with pytest.raises(ValueError, match="Expected max_length >= 1"):
        LocationAttention(0)
    with pytest.raises(ValueError, match=r"Expected at most 7 keys\. Received: 11"):
        LocationAttention(7)(QUERY, VALUE)
