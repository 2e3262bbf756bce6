"""Multi-head layers against the slow twin, their masks, caches and equivalences."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import (
    FeedForward,
    MultiHeadAttention,
    RestrictedSelfAttention,
    ScaledEmbedding,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from keras_attn.ops.cached_attention import next_steps, own_caches
from keras_attn.ops.restricted_attention import band_mask, restricted_attention
from tests.reference import transformer as twin

RANDOM = np.random.default_rng(5)
QUERY = RANDOM.normal(size=(2, 3, 5)).astype("float32")
KEYS = RANDOM.normal(size=(2, 11, 7)).astype("float32")
MASK = RANDOM.random((2, 3, 11)) < 0.5
HEAD_MASK = RANDOM.random((2, 2, 3, 11)) < 0.5
KEYS_MASK = np.arange(11) < np.array([[4], [11]])


def attention(**kwargs):
    """d_k 3, d_v 5, biases at random."""
    layer = MultiHeadAttention(2, 3, 5, use_bias=True, **kwargs)
    layer.build(QUERY.shape, KEYS.shape)
    for weight in layer.trainable_weights:
        weight.assign(RANDOM.normal(0, 0.7, weight.shape))
    return layer


def check_twin(layer, query, keys, arguments, sees):
    outputs, weights = layer(query, None if keys is query else keys, **arguments)
    named = {one.name: np.array(one.value, "float64") for one in layer.weights}
    for row in range(len(query)):
        expected = twin.multi_head(
            named, query[row], keys[row], layer.num_heads, lambda t, s, row=row: sees(row, t, s)
        )
        np.testing.assert_allclose(outputs[row], expected[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sees"),
    [
        ({}, lambda b, t, s: True),
        ({"key_mask": KEYS_MASK}, lambda b, t, s: KEYS_MASK[b, s]),
        ({"attention_mask": MASK}, lambda b, t, s: MASK[b, t, s]),
        ({"attention_mask": MASK[0]}, lambda b, t, s: MASK[0, t, s]),
        (
            {"attention_mask": MASK, "key_mask": KEYS_MASK},
            lambda b, t, s: MASK[b, t, s] and KEYS_MASK[b, s],
        ),
    ],
)
def test_cross_attention_equals_its_twin(arguments, sees):
    check_twin(attention(), QUERY, KEYS, arguments, sees)
    check_twin(
        attention(causal=True), QUERY, KEYS, arguments, lambda b, t, s: s <= t and sees(b, t, s)
    )


def test_self_attention_equals_its_twin():
    layer = MultiHeadAttention(2, 3, 7, 13, causal=True)
    mask = KEYS_MASK[:, :11]
    check_twin(layer, KEYS, KEYS, {"mask": mask}, lambda b, t, s: s <= t and mask[b, s])


def test_a_mask_by_head():
    _, weights = attention()(QUERY, KEYS, attention_mask=HEAD_MASK)
    np.testing.assert_array_equal(weights.numpy() > 0, HEAD_MASK)


def test_one_product_equals_three():
    layer = MultiHeadAttention(2, 3, 5, use_bias=True)
    found, expected = layer(KEYS), layer(KEYS, KEYS)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_weight_dropout_only_in_training():
    layer = MultiHeadAttention(2, 3, dropout=0.5)
    outputs, weights = layer(KEYS)
    dropped, same = layer(KEYS, training=True)
    np.testing.assert_allclose(same, weights, rtol=1e-6)
    assert not np.allclose(dropped, outputs)


def test_fully_masked_rows_have_finite_gradients():
    layer, restricted = MultiHeadAttention(2, 3), RestrictedSelfAttention(2, 3, 1)
    query = tf.Variable(QUERY)
    for call in (
        lambda: layer(query, KEYS, key_mask=np.zeros((2, 11), bool)),
        lambda: restricted(query, key_mask=np.zeros((2, 3), bool)),
    ):
        with tf.GradientTape() as tape:
            outputs, weights = call()
            loss = tf.reduce_sum(tf.sin(outputs)) + tf.reduce_sum(weights**2)
        assert not np.any(outputs) and not np.any(weights)
        assert np.isfinite(tape.gradient(loss, query)).all()


def test_keras_masks_are_taken():
    tokens = np.array([[3, 2, 0, 0, 0], [1, 4, 2, 6, 0]])
    embedded = keras.layers.Embedding(7, 5, mask_zero=True)(tokens)
    assert not np.any(MultiHeadAttention(2, 3)(embedded)[1][0, ..., 2:])
    assert not np.any(MultiHeadAttention(2, 3)(QUERY, embedded)[1][0, ..., 2:])
    assert not np.any(TransformerEncoderBlock(2, 3, 3, 7)(embedded)[1][0, ..., 2:])
    assert not np.any(TransformerDecoderBlock(2, 3, 3, 7)(QUERY, embedded)[2][0, ..., 2:])
    weights = RestrictedSelfAttention(2, 3, 1)(embedded)[1]
    assert not np.any(weights[0, :, 1, 2:]) and not np.any(weights[0, :, 3:])


@pytest.mark.parametrize("length", [1, 5, 13, 67])
@pytest.mark.parametrize(("radius", "block"), [(0, None), (1, 1), (2, 3), (5, 5), (7, None)])
def test_restricted_equals_full_under_a_band(length, radius, block):
    query, keys = RANDOM.normal(size=(2, 2, 3, length, 5)).astype("float32")
    values = RANDOM.normal(size=(2, 3, length, 7)).astype("float32")
    mask = RANDOM.random((2, length)) < 0.7
    context, band = restricted_attention(query, keys, values, radius, mask, block=block)
    full = np.exp(query @ np.swapaxes(keys, -1, -2) / np.sqrt(5))
    full = full * (band_mask(length, radius).numpy() & mask[:, None, None, :])
    full = full / np.maximum(full.sum(-1, keepdims=True), 1e-30)
    np.testing.assert_allclose(context, full @ values, rtol=1e-4, atol=1e-5)
    for t, j in np.ndindex(length, 2 * radius + 1):
        s = t + j - radius
        expected = full[..., t, s] if 0 <= s < length else np.zeros((2, 3))
        np.testing.assert_allclose(band[..., t, j], expected, rtol=1e-4, atol=1e-6)


def test_restricted_layer_equals_the_full_layer_under_a_band():
    restricted, full = RestrictedSelfAttention(2, 3, 2, 5, 7), MultiHeadAttention(2, 3, 5, 7)
    outputs = restricted(KEYS, key_mask=KEYS_MASK)[0]
    full.build(KEYS.shape)
    full.set_weights(restricted.get_weights())
    expected = full(KEYS, key_mask=KEYS_MASK, attention_mask=band_mask(11, 2))[0]
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)


def test_a_projected_memory_is_read_as_keys_are():
    layer = attention()
    found = layer.attend(QUERY, layer.project(KEYS), KEYS_MASK)
    for one, other in zip(found, layer(QUERY, KEYS, key_mask=KEYS_MASK)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_cache_extended_in_steps_equals_the_whole_sequence():
    layer = MultiHeadAttention(2, 3, 5, use_bias=True, causal=True)
    expected = layer(KEYS)[0]
    cache, begin = layer.empty_cache(2, 13), 0
    for steps in (1, 4, 1, 5):
        time = tf.fill((2,), begin)
        coming = next_steps(own_caches(2, 1, 13), time, steps, layer.num_heads)
        part = slice(begin, begin + steps)
        found, cache = layer.extend(KEYS[:, part].reshape(2 * steps, -1), cache, coming)
        expected_rows = expected.numpy()[:, part].reshape(2 * steps, -1)
        np.testing.assert_allclose(found, expected_rows, rtol=1e-5, atol=1e-6)
        begin += steps


def test_feed_forward_and_embedding_equal_their_formulas():
    layer = FeedForward(3)
    found = layer(KEYS)
    hidden, output, _, _ = layer.get_weights()
    np.testing.assert_allclose(found, np.maximum(0, KEYS @ hidden) @ output, rtol=1e-5, atol=1e-6)
    embedding = ScaledEmbedding(13, 5)
    found = embedding(np.array([[3, 0, 12]]))
    (table,) = embedding.get_weights()
    np.testing.assert_allclose(found[0], table[[3, 0, 12]] * 5**0.5, rtol=1e-6)
    logits = embedding.logits(QUERY, embedding.output_kernel())
    np.testing.assert_allclose(logits, QUERY @ table.T, rtol=1e-5, atol=1e-6)


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: num_heads=0"):
        MultiHeadAttention(0, 3)
    with pytest.raises(ValueError, match="Received: key_dim=None"):
        MultiHeadAttention(2, None)
    with pytest.raises(ValueError, match="Received: value_dim=0"):
        MultiHeadAttention(2, 3, 0)
    with pytest.raises(ValueError, match="Received: dropout=1"):
        RestrictedSelfAttention(2, 3, 1, dropout=1)
    with pytest.raises(ValueError, match="Received: radius=-1"):
        RestrictedSelfAttention(2, 3, -1)
    with pytest.raises(ValueError, match="Received: intermediate_dim=0"):
        FeedForward(0)
    with pytest.raises(ValueError, match="Received: dropout=-1"):
        FeedForward(3, -1)
    with pytest.raises(ValueError, match="Received: norm='none'"):
        TransformerEncoderBlock(2, 3, 3, 7, norm="none")
    with pytest.raises(ValueError, match="Received: dropout=2"):
        TransformerDecoderBlock(2, 3, 3, 7, dropout=2)
    with pytest.raises(ValueError, match="Received: epsilon=0"):
        TransformerDecoderBlock(2, 3, 3, 7, epsilon=0)
    with pytest.raises(ValueError, match="Received: units=0"):
        ScaledEmbedding(3, 0)


def test_sequences_share_the_keys_of_their_example():
    block = TransformerDecoderBlock(2, 3, 5, 13, normalize_first=True, use_bias=True)
    random = np.random.default_rng(3)
    inputs, keys = (
        random.normal(size=shape).astype("float32") for shape in ((6, 5, 7), (2, 11, 7))
    )
    key_mask = np.arange(11) < np.array([[11], [4]])
    found = block(inputs, keys, key_mask=key_mask)
    alone = block(inputs, np.repeat(keys, 3, axis=0), key_mask=np.repeat(key_mask, 3, axis=0))
    for one, other in zip(found, alone):
        np.testing.assert_allclose(one, other, atol=1e-6)
