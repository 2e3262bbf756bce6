"""Top-k by blocks equals a stable sort."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.ops.top_k import few_greatest


@pytest.mark.parametrize("length", [5, 384, 389, 1031, 47 * 61])
@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("jit", [False, True])
def test_equals_a_stable_sort(length, count, jit):
    random = np.random.default_rng(length + count)
    values = random.normal(size=(7, length)).astype("float32")
    values[1] = random.integers(0, 3, length)
    values[2] = 5.0
    values[3, 2:] = -np.inf
    values[4] = -np.inf
    function = tf.function(lambda rows: few_greatest(rows, count), jit_compile=jit)
    expected = np.argsort(-values, axis=-1, kind="stable")[:, :count]
    greatest, index = function(tf.constant(values))
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_array_equal(greatest, np.take_along_axis(values, expected, axis=1))
    assert ops.shape(index) == (7, count)
