"""Attention rollout equals its formula, one number at a time."""

import numpy as np
import pytest
from keras import ops

from keras_attn.ops.rollout import attention_rollout


def random_weights(layers, batch, heads, places):
    weights = np.random.default_rng(5).random((layers, batch, heads, places, places))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype("float32")


def twin(weights):
    """Rollout of one picture's weights (N, H, S, S)."""
    places = weights.shape[-1]
    rollout = np.eye(places)
    for layer in weights:
        mixed = np.zeros((places, places))
        for t in range(places):
            for s in range(places):
                mean = sum(head[t, s] for head in layer) / len(layer)
                mixed[t, s] = 0.5 * mean + (0.5 if s == t else 0.0)
            mixed[t] /= mixed[t].sum()
        rollout = mixed @ rollout
    return rollout


def test_equals_the_twin():
    weights = random_weights(3, 2, 5, 7)
    rollout = ops.convert_to_numpy(attention_rollout(list(weights)))
    for row in range(2):
        np.testing.assert_allclose(rollout[row], twin(weights[:, row]), atol=1e-6)
    np.testing.assert_allclose(rollout.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_array_equal(ops.convert_to_numpy(attention_rollout(weights)), rollout)


def test_rows_that_do_not_sum_to_one_are_divided():
    halved = 0.5 * random_weights(2, 1, 3, 5)
    rollout = ops.convert_to_numpy(attention_rollout(list(halved)))
    np.testing.assert_allclose(rollout[0], twin(halved[:, 0]), atol=1e-6)
    np.testing.assert_allclose(rollout.sum(axis=-1), 1, atol=1e-6)


def test_no_layers():
    with pytest.raises(ValueError, match=r"at least 1 layer\. Received: none"):
        attention_rollout([])
