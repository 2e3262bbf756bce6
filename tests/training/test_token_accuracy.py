"""The share of tokens that the model would have chosen."""

import numpy as np

from keras_attn.training.token_accuracy import TokenAccuracy


def test_equals_a_count():
    random = np.random.default_rng(1)
    logits = random.normal(size=(3, 5, 7)).astype("float32")
    labels = random.integers(0, 7, (3, 5))
    labels[0] = logits[0].argmax(axis=-1)
    weights = random.integers(0, 3, (3, 5)).astype("float32")
    metric, right = TokenAccuracy(), 0.0
    for row in range(3):
        metric.update_state(labels[row], logits[row], weights[row])
        for place in range(5):
            right += weights[row, place] * (labels[row, place] == logits[row, place].argmax())
    np.testing.assert_allclose(metric.result(), right / weights.sum(), rtol=1e-6)
    assert metric.name == "token_accuracy"


def test_config():
    again = TokenAccuracy.from_config(TokenAccuracy(name="mine").get_config())
    assert again.name == "mine"
    assert float(again([2], [[1.0, 2.0, 3.0]])) == 1
