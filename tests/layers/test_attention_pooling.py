"""Pooling by attention, and convolutions under a mask."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import (
    AdditiveAttention,
    AttentionPooling,
    DotAttention,
    MaskedConvolution,
    MultiHeadAttention,
    ScaledDotAttention,
)
from tests.reference import attention as slow

RANDOM = np.random.default_rng(11)
INPUTS = RANDOM.normal(size=(3, 7, 5)).astype("float32")
MASK = np.arange(7) < np.array([[7], [3], [0]])


def test_it_equals_attention_of_one_query():
    layer = AttentionPooling(AdditiveAttention(11))
    pooled, weights = layer(INPUTS, mask=MASK, return_attention_scores=True)
    query = np.repeat(np.array(layer.query)[None], 3, axis=0)
    kernels = layer.attention.get_weights()

    def score(one, key):
        return slow.additive(one, key, kernels[0], kernels[1], kernels[2][:, 0])

    expected, shares = slow.attend(score, query, INPUTS, INPUTS, MASK[:, None, :])
    np.testing.assert_allclose(pooled, expected[:, 0], atol=1e-5)
    np.testing.assert_allclose(weights, shares[:, 0], atol=1e-5)
    np.testing.assert_allclose(np.sum(weights, axis=-1), [1, 1, 0], atol=1e-6)


@pytest.mark.parametrize("attention", [DotAttention(), ScaledDotAttention()])
def test_a_query_of_zeros_is_the_mean_over_real_positions(attention):
    pooled = AttentionPooling(attention, initializer="zeros")(INPUTS[:2], mask=MASK[:2])
    np.testing.assert_allclose(pooled, [INPUTS[0].mean(0), INPUTS[1, :3].mean(0)], atol=1e-6)


def test_it_sees_an_automatic_mask_and_its_output_has_none():
    tokens = np.array([[3, 2, 5, 0], [4, 0, 0, 0]], "int32")
    inputs = keras.layers.Embedding(7, 5, mask_zero=True)(tokens)
    layer = AttentionPooling(AdditiveAttention(3))
    pooled, weights = layer(inputs, return_attention_scores=True)
    assert not np.any(np.array(weights)[tokens == 0])
    assert getattr(pooled, "_keras_mask", None) is None


def test_gradients_of_padding_are_zero_and_finite():
    layer, inputs = AttentionPooling(AdditiveAttention(3)), tf.constant(INPUTS)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_sum(tf.sin(layer(inputs, mask=MASK)))
    gradients = tape.gradient(loss, [inputs, *layer.trainable_variables])
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients)
    assert not np.any(np.array(gradients[0])[~MASK]) and np.any(np.array(gradients[0])[MASK])


def test_pooling_by_what_is_no_score():
    for wrong in (None, "additive", MultiHeadAttention(2, 3)):
        with pytest.raises(ValueError, match="Expected a ScoredAttention layer"):
            AttentionPooling(wrong)
    with pytest.raises(ValueError, match="Expected inputs of 3 axes"):
        AttentionPooling(DotAttention())(INPUTS[0])


@pytest.mark.parametrize("size", [1, 2, 3, 11])
def test_a_convolution_reads_padding_as_zeros(size):
    layer = MaskedConvolution(11, size, activation="tanh")
    outputs = np.array(layer(INPUTS, mask=MASK))
    kernel, bias = layer.convolution.get_weights()
    before = (size - 1) // 2
    for row, length in ((0, 7), (1, 3)):
        for place in range(length):
            total = bias.astype("float64")
            for tap in range(size):
                if 0 <= place - before + tap < length:
                    total = total + INPUTS[row, place - before + tap] @ kernel[tap]
            np.testing.assert_allclose(outputs[row, place], np.tanh(total), atol=1e-5)


def test_bad_convolutions():
    for arguments, name in (((0, 3), "filters"), ((3, 0), "kernel_size"), ((3, 2.5), "kernel_s")):
        with pytest.raises(ValueError, match=f"Expected {name}"):
            MaskedConvolution(*arguments)
