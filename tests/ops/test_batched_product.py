import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.ops.batched_product import batched_product

RANDOM = np.random.default_rng(5)
SHAPES = [
    ((2, 1, 3), (2, 3, 7)),
    ((5, 2, 1, 3), (5, 2, 3, 7)),
    ((5, 1, 2, 1, 3), (5, 7, 2, 3, 11)),
    ((5, 1, 2, 4, 3), (5, 7, 2, 3, 11)),
    ((2, 5, 3), (2, 3, 7)),
    ((0, 1, 3), (0, 3, 7)),
    ((1, 3), (3, 7)),
]


def normal(shape, dtype="float32"):
    return tf.cast(RANDOM.normal(size=shape), dtype)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_the_product_and_its_gradient_equal_numpy(left, right, transposed, jit):
    left, right = normal(left), normal(right)
    expected = left.numpy() @ right.numpy()
    right = tf.linalg.matrix_transpose(right) if transposed else right
    upstream = normal(expected.shape)

    @tf.function(autograph=False, jit_compile=jit)
    def product_and_gradients(left, right):
        with tf.GradientTape() as tape:
            tape.watch((left, right))
            product = batched_product(left, right, "float32", transposed)
        return product, tape.gradient(product, (left, right), upstream)

    product, (to_left, to_right) = product_and_gradients(left, right)
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-5)
    plain = np.swapaxes(right, -1, -2) if transposed else right.numpy()
    expected_left = upstream.numpy() @ np.swapaxes(plain, -1, -2)
    expected_right = np.swapaxes(left, -1, -2) @ upstream.numpy()
    while expected_left.shape != left.shape:  # Broadcast over an axis of length 1.
        axis = next(a for a, n in enumerate(left.shape) if n != expected_left.shape[a])
        expected_left = expected_left.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(to_left, expected_left, rtol=1e-5, atol=1e-5)
    if transposed:
        expected_right = np.swapaxes(expected_right, -1, -2)
    np.testing.assert_allclose(to_right, expected_right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_precisions(dtype, rows):
    left, right = normal((2, rows, 3), dtype), normal((2, 3, 7), dtype)
    product = batched_product(left, right, dtype)
    assert product.dtype == dtype
    expected = left.numpy().astype("float64") @ right.numpy().astype("float64")
    tolerance = 1e-12 if dtype == "float64" else 0.02
    np.testing.assert_allclose(product.numpy().astype("float64"), expected, tolerance, tolerance)


def test_a_row_of_half_precision_is_not_rounded_on_the_way():
    left = tf.constant([[[1.0, 1.0]]], "bfloat16")
    right = tf.constant([[[256.0], [1.0]]], "bfloat16")
    assert float(batched_product(left, right, "float32")[0, 0, 0]) == 257.0
    assert float(batched_product(left, right, "bfloat16")[0, 0, 0]) == 256.0


def test_numpy_and_graphs_without_static_rows():
    left, right = RANDOM.normal(size=(2, 2, 3)), RANDOM.normal(size=(2, 3, 7))
    expected = left[:, :1] @ right
    np.testing.assert_allclose(batched_product(left[:, :1], right, "float64"), expected)
    row = ops.convert_to_tensor(left[:, :1])
    np.testing.assert_allclose(batched_product(row, right, "float64"), expected)
    spec = [tf.TensorSpec((None, None, 3), "float64"), tf.TensorSpec((None, 3, None), "float64")]
    graph = tf.function(lambda a, b: batched_product(a, b, "float64"), spec)
    np.testing.assert_allclose(graph(left, right), left @ right)
