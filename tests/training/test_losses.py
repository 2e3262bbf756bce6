"""The loss, the optimizer and the schedule."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam, warmup_cosine

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
    found = TokenCrossEntropy(smoothing)(TARGETS, LOGITS, WEIGHTS)
    np.testing.assert_allclose(found, slow_loss(smoothing), rtol=1e-5)


def test_padding_counts_nothing():
    spoiled = np.where(WEIGHTS[..., None] > 0, LOGITS, 1e9).astype("float32")
    loss = TokenCrossEntropy(0.1)
    np.testing.assert_allclose(loss(TARGETS, spoiled, WEIGHTS), loss(TARGETS, LOGITS, WEIGHTS))
    assert float(loss(TARGETS, LOGITS, 0 * WEIGHTS)) == 0


def test_clip_scales_the_whole_gradient():
    variables = [keras.Variable(np.zeros(3)), keras.Variable(np.zeros(2))]
    optimizer = ClippedAdam(1.0, clip_norm=1.0)
    optimizer.build(variables)
    gradients = [tf.constant([3.0, 0, 0]), tf.constant([0.0, 4.0])]
    pairs = optimizer._all_reduce_sum_gradients(list(zip(gradients, variables)))
    np.testing.assert_allclose(pairs[0][0], [0.6, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(pairs[1][0], [0, 0.8], rtol=1e-6)


def test_schedule():
    schedule = warmup_cosine(2.0, 10, 110)
    rates = [float(schedule(step)) for step in (0, 5, 10, 60, 110)]
    np.testing.assert_allclose(rates, [0, 1, 2, 1, 0], atol=1e-5)
    assert float(warmup_cosine(2.0, 0, 100)(0)) == 2


def test_configs():
    assert TokenCrossEntropy.from_config(TokenCrossEntropy(0.2).get_config()).label_smoothing == 0.2
    again = ClippedAdam.from_config(ClippedAdam(0.1, 3.0).get_config())
    assert again.clip_norm == 3.0


def test_bad_arguments():
    with pytest.raises(ValueError, match="label_smoothing=1"):
        TokenCrossEntropy(1)
    with pytest.raises(ValueError, match="clip_norm=0"):
        ClippedAdam(clip_norm=0)
    with pytest.raises(ValueError, match="warmup_steps=7"):
        warmup_cosine(0.1, 7, 7)
