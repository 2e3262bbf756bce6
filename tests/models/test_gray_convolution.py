import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models.spatial_transformer.gray_convolution import Conv2D
from keras_attn.training import read_model_file


def answers(layer, pictures):
    """What a layer makes of pictures, and gradients to them and to its weights."""
    with tf.GradientTape() as tape:
        tape.watch(pictures)
        features = layer(pictures)
        loss = tf.reduce_sum(features**2)
    return [features, *tape.gradient(loss, [pictures, layer.kernel.value, layer.bias.value])]


def test_it_computes_what_keras_does_and_reads_its_weights(tmp_path):
    networks = [
        keras.Sequential([keras.Input((13, 11, 1)), kind(7, (5, 3), activation="relu")])
        for kind in (keras.layers.Conv2D, Conv2D)
    ]
    networks[0].save_weights(tmp_path / "of.weights.h5")
    networks[1].load_weights(tmp_path / "of.weights.h5")
    pictures = tf.constant(np.random.default_rng(2).normal(size=(2, 13, 11, 1)), tf.float32)
    expected, ours = (answers(network.layers[0], pictures) for network in networks)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_pictures_in_color_are_refused():
    with pytest.raises(ValueError, match=r"one channel. Received: shape=\(None, 13, 11, 3\)"):
        Conv2D(7, 3).build((None, 13, 11, 3))


def test_it_is_saved_with_the_model(tmp_path):
    network = keras.Sequential([keras.Input((13, 11, 1)), Conv2D(7, (5, 3), use_bias=False)])
    network.save(tmp_path / "of.keras")
    again = read_model_file(tmp_path / "of.keras")
    assert again.layers[0].get_config() == network.layers[0].get_config()
    pictures = np.random.default_rng(2).normal(size=(2, 13, 11, 1))
    np.testing.assert_array_equal(again(pictures), network(pictures))


@pytest.mark.parametrize("other", [{"padding": "same"}, {"strides": 2}, {"dilation_rate": 2}])
def test_what_it_does_not_do_is_refused(other):
    with pytest.raises(ValueError, match=r"Expected \{'strides': \(1, 1\), .* Received: \{"):
        Conv2D(7, 3, **other)
