"""Patches equal extract-patches and a product; positions of a grid fit every grid."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.layers import GridPositions, PatchEncoder

IMAGES = np.random.default_rng(3).normal(size=(2, 15, 33, 5)).astype("float32")


def patch_encoder():
    layer = PatchEncoder(3, 7)
    layer.build(IMAGES.shape)
    layer.bias.assign(np.arange(7) / 7)
    return layer


def twin(images, kernel, bias):
    """One patch, one unit and one pixel at a time."""
    size = len(kernel)
    batch, height, width, channels = images.shape
    outputs = np.zeros((batch, height // size, width // size, kernel.shape[-1]))
    for place in np.ndindex(*outputs.shape):
        b, row, column, unit = place
        outputs[place] = bias[unit]
        for r, c, channel in np.ndindex(size, size, channels):
            pixel = images[b, row * size + r, column * size + c, channel]
            outputs[place] += pixel * kernel[r, c, channel, unit]
    return outputs


def test_patches_equal_the_twin():
    layer, images = patch_encoder(), IMAGES[:, :9, :15]
    expected = twin(images, *(np.array(weight, "float64") for weight in layer.get_weights()))
    np.testing.assert_allclose(layer(images), expected, atol=1e-5)


def test_patches_equal_extract_patches_and_a_product():
    layer = patch_encoder()
    patches = ops.image.extract_patches(IMAGES, 3, data_format="channels_last")
    expected = ops.matmul(patches, ops.reshape(layer.kernel, (45, 7))) + layer.bias
    np.testing.assert_allclose(layer(IMAGES), expected, atol=1e-5)
    assert layer.compute_output_shape((None, 15, None, 5)) == (None, 5, None, 7)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((16, 33), r"a height that is a multiple of patch_size=3\. Received: height=16"),
        ((15, 34), r"a width that is a multiple of patch_size=3\. Received: width=34"),
        ((0, 33), r"Received: height=0"),
    ],
)
def test_sizes_that_patches_do_not_fill(size, message):
    with pytest.raises(ValueError, match=message):
        PatchEncoder(3, 7)(np.zeros((2, *size, 3)))


@pytest.mark.parametrize("sizes", [(0, 7), (3, 0), (2.5, 7)])
def test_patches_of_no_size(sizes):
    with pytest.raises(ValueError, match=r">= 1.* Received: (patch_size|hidden_dim)="):
        PatchEncoder(*sizes)


def test_positions_are_added_at_their_own_size():
    layer, inputs = GridPositions(3, 5), np.ones((2, 3, 5, 7), "float32")
    output = layer(inputs)
    np.testing.assert_array_equal(output, 1 + layer.table.numpy()[None].repeat(2, axis=0))


def test_positions_are_interpolated_for_another_grid():
    layer = GridPositions(3, 5)
    layer.build((None, 3, 5, 2))
    rows, columns = np.meshgrid(np.arange(3), np.arange(5), indexing="ij")
    layer.table.assign(np.stack([rows, columns], axis=-1))
    positions = np.array(layer(np.zeros((1, 7, 11, 2), "float32")))[0]
    assert np.ptp(positions[..., 0], axis=1).max() < 1e-5 < np.ptp(positions[..., 0], axis=0).min()
    assert np.ptp(positions[..., 1], axis=0).max() < 1e-5 < np.ptp(positions[..., 1], axis=1).min()
    np.testing.assert_allclose(positions[3, 5], [1, 2], atol=1e-5)


def test_positions_are_interpolated_in_float32():
    exact = GridPositions(3, 5, "he_normal")
    exact.build((None, 3, 5, 7))
    keras.config.set_dtype_policy("mixed_bfloat16")
    rounded = GridPositions(3, 5)
    rounded.build((None, 3, 5, 7))
    rounded.set_weights(exact.get_weights())
    inputs = np.zeros((1, 7, 11, 7), "float32")
    output = rounded(inputs)
    assert output.dtype == tf.bfloat16
    np.testing.assert_array_equal(tf.cast(exact(inputs), tf.bfloat16), output)


def test_positions_want_to_know_the_grid():
    layer = tf.function(GridPositions(3, 5), input_signature=[tf.TensorSpec((2, None, 5, 7))])
    with pytest.raises(ValueError, match=r"a grid of known height.*\(2, None, 5, 7\)"):
        layer.get_concrete_function()
    with pytest.raises(ValueError, match=r"width >= 1\. Received: width=0"):
        GridPositions(3, 0)
