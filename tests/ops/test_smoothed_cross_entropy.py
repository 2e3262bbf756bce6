"""Cross-entropy and its own gradient equal NumPy's, in a graph, under XLA and at the extremes."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy

RANDOM = np.random.default_rng(3)
LOGITS = RANDOM.normal(size=(2, 5, 7)).astype("float32") * 3
LABELS = RANDOM.integers(0, 7, (2, 5))
SLOPES = RANDOM.normal(size=(2, 5)).astype("float32")


def twin(logits, labels, smoothing):
    """Losses and their gradients, place by place, in float64."""
    losses, gradients = np.zeros(labels.shape), np.zeros(logits.shape)
    for place in np.ndindex(labels.shape):
        row = logits[place].astype("float64")
        p = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        wanted = np.full(len(row), smoothing / len(row))
        wanted[labels[place]] += 1 - smoothing
        losses[place] = -sum(wanted[v] * np.log(p[v]) for v in range(len(row)) if wanted[v])
        gradients[place] = p - wanted
    return losses, gradients


def with_gradient(logits, labels, smoothing):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses = smoothed_cross_entropy(labels, logits, smoothing)
    return losses, tape.gradient(losses, logits, SLOPES)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("jit", [None, False, True])
def test_equals_the_twin(smoothing, jit):
    def call(*given):
        return with_gradient(*given, smoothing)

    function = call if jit is None else tf.function(call, jit_compile=jit)
    losses, gradients = function(tf.constant(LOGITS), tf.constant(LABELS))
    expected = twin(LOGITS, LABELS, smoothing)
    np.testing.assert_allclose(losses, expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradients, expected[1] * SLOPES[..., None], rtol=1e-5, atol=1e-6)


def test_greatest_logits():
    logits = np.zeros((2, 5, 7), "float32")
    logits[0], logits[1, :, 3] = 1e30, 1e30
    losses, gradients = with_gradient(tf.constant(logits), tf.constant(LABELS * 0 + 3), 0.0)
    np.testing.assert_allclose(losses[0], np.full(5, np.log(7)), rtol=1e-6)
    np.testing.assert_array_equal(losses[1], np.zeros(5))
    assert np.isfinite(gradients).all()


def test_no_row_and_an_unknown_length():
    spec = [tf.TensorSpec((None, 7)), tf.TensorSpec((None,), tf.int32)]
    graph = tf.function(smoothed_cross_entropy, input_signature=spec[::-1])
    for function in (smoothed_cross_entropy, graph):
        assert function(tf.zeros((0,), tf.int32), tf.zeros((0, 7))).shape == (0,)
    assert graph(tf.zeros((3,), tf.int32), tf.zeros((3, 7))).shape == (3,)
