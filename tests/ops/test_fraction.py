import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.fraction import fraction


@pytest.mark.parametrize("jit", [False, True])
def test_what_stands_after_the_point_and_its_gradient(jit):
    values = np.random.default_rng(7).uniform(-3, 300, 53).astype("float32")
    values[:3] = 0.0, 5.0, -2.0

    @tf.function(autograph=False, jit_compile=jit)
    def with_gradient(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            fractions = fraction(values)
        return fractions, tape.gradient(fractions, values)

    fractions, gradient = with_gradient(tf.constant(values))
    np.testing.assert_array_equal(fractions, values - np.floor(values))
    np.testing.assert_array_equal(gradient, np.ones(53))
