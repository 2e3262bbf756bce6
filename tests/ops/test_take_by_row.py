import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.take_by_row import take_by_row

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", [(3, 7), (3, 7, 5), (3, 7, 2, 5), (0, 7)])
def test_each_row_is_taken_from_by_its_own_places(shape, jit):
    values = RANDOM.normal(size=shape).astype("float32")
    places = RANDOM.integers(0, 7, (shape[0], 11)).astype("int32")
    upstream = RANDOM.normal(size=(shape[0], 11, *shape[2:])).astype("float32")

    @tf.function(autograph=False, jit_compile=jit)
    def with_gradient(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            taken = take_by_row(values, places)
        return taken, tape.gradient(taken, values, upstream)

    expected, gradient = np.zeros_like(upstream), np.zeros_like(values)
    for row, own in enumerate(places):
        for place, source in enumerate(own):
            expected[row, place] = values[row, source]
            gradient[row, source] += upstream[row, place]
    taken, to_values = with_gradient(tf.constant(values))
    np.testing.assert_array_equal(taken, expected)
    np.testing.assert_allclose(tf.convert_to_tensor(to_values), gradient, rtol=1e-5, atol=1e-6)
