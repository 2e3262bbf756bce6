"""The loss, the optimizer and the schedule."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.losses import TokenCrossEntropy

RANDOM = np.random.default_rng(5)
LOGITS = RANDOM.normal(size=(2, 3, 5, 7)).astype("float32")
TARGETS = RANDOM.integers(0, 7, (2, 3, 5))
WEIGHTS = (RANDOM.random((2, 3, 5)) < 0.6).astype("float32")


def slow_loss(smoothing):
    total = 0.0
    for place in np.ndindex(TARGETS.shape):
        row = LOGITS[place].astype("float64")
        log_p = row - np.log(np.exp(row).sum())
        wanted = np.full(7, smoothing / 7)
        wanted[TARGETS[place]] += 1 - smoothing
        total -= WEIGHTS[place] * float(wanted @ log_p)
    return total / WEIGHTS.sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_loss_equals_its_formula(smoothing):
    loss = TokenCrossEntropy(smoothing)(TARGETS, LOGITS, WEIGHTS)
    np.testing.assert_allclose(loss, slow_loss(smoothing), rtol=1e-5)


def test_padding_counts_nothing():
    spoiled = np.where(WEIGHTS[..., None] > 0, LOGITS, 1e9).astype("float32")
    loss = TokenCrossEntropy(0.1)
    np.testing.assert_allclose(loss(TARGETS, spoiled, WEIGHTS), loss(TARGETS, LOGITS, WEIGHTS))
    assert float(loss(TARGETS, LOGITS, 0 * WEIGHTS)) == 0


def test_weights_of_examples_count_for_all_their_tokens():
    loss, logits, targets = TokenCrossEntropy(), LOGITS[:, 0, :2], TARGETS[:, 0, :2]
    expected = loss(targets, logits, np.float32([[1, 1], [0, 0]]))
    for weights in ([1.0, 0.0], [[1.0], [0.0]]):
        np.testing.assert_allclose(loss(targets, logits, np.float32(weights)), expected, rtol=1e-6)


def test_a_mask_on_the_logits_counts_as_weights_do():
    loss, mask = TokenCrossEntropy(0.1), WEIGHTS > 0
    logits = tf.constant(LOGITS)
    logits._keras_mask = tf.constant(mask)
    expected = loss(TARGETS, LOGITS, WEIGHTS)
    np.testing.assert_allclose(loss(TARGETS, logits), expected, rtol=1e-6)
    np.testing.assert_allclose(loss(TARGETS, logits, WEIGHTS), expected, rtol=1e-6)


def test_configs():
    assert TokenCrossEntropy.from_config(TokenCrossEntropy(0.2).get_config()).label_smoothing == 0.2


def test_bad_arguments():
    with pytest.raises(ValueError, match="label_smoothing=1"):
        TokenCrossEntropy(1)
