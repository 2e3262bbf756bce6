"""Multi-head layers against the slow twin, their masks, caches and equivalences."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import (
    AlibiBias,
    FeedForward,
    MultiHeadAttention,
    RelativeBias,
    RestrictedSelfAttention,
    RotaryPositions,
    ScaledEmbedding,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from keras_attn.ops.cached_attention import next_steps, own_caches
from keras_attn.ops.masks import sliding_window_mask
from keras_attn.ops.restricted_attention import restricted_attention
from tests.reference import transformer as twin

RANDOM = np.random.default_rng(5)
QUERY = RANDOM.normal(size=(2, 3, 5)).astype("float32")
KEYS = RANDOM.normal(size=(2, 11, 7)).astype("float32")
MASK = RANDOM.random((2, 3, 11)) < 0.5
HEAD_MASK = RANDOM.random((2, 2, 3, 11)) < 0.5
VALUES = RANDOM.normal(size=(2, 11, 13)).astype("float32")
KEYS_MASK = np.arange(11) < np.array([[4], [11]])
WEIGHTS = {"return_attention_scores": True}


def attention(shapes=(QUERY.shape, KEYS.shape), value_dim=5, **kwargs):
    """d_k 3, d_v 5, biases at random; `shapes` of query, value and key."""
    layer = MultiHeadAttention(2, 3, value_dim, **kwargs)
    layer.build(*shapes)
    for weight in layer.trainable_weights:
        weight.assign(RANDOM.normal(0, 0.7, weight.shape))
    return layer


def check(outputs, expected):
    for output, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-5)


def check_twin(layer, query, values, arguments, sees, keys=None):
    given = {"value": None if values is query else values, "key": keys}
    outputs, weights = layer(query, **given, **arguments, **WEIGHTS)
    named = {weight.name: np.array(weight.value, "float64") for weight in layer.weights}
    keys = values if keys is None else keys
    for row in range(len(query)):
        expected = twin.multi_head(
            named, query[row], values[row], lambda t, s, row=row: sees(row, t, s), keys[row]
        )
        np.testing.assert_allclose(outputs[row], expected[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sees"),
    [
        ({}, lambda b, t, s: True),
        ({"value_mask": KEYS_MASK}, lambda b, t, s: KEYS_MASK[b, s]),
        ({"attention_mask": MASK}, lambda b, t, s: MASK[b, t, s]),
        ({"attention_mask": MASK[0]}, lambda b, t, s: MASK[0, t, s]),
        (
            {"attention_mask": MASK, "value_mask": KEYS_MASK},
            lambda b, t, s: MASK[b, t, s] and KEYS_MASK[b, s],
        ),
    ],
)
def test_cross_attention_equals_its_twin(arguments, sees):
    check_twin(attention(), QUERY, KEYS, arguments, sees)
    causal = {**arguments, "use_causal_mask": True}
    check_twin(attention(), QUERY, KEYS, causal, lambda b, t, s: s <= t and sees(b, t, s))


@pytest.mark.parametrize("values", [VALUES, KEYS + 1, KEYS], ids=["wider", "other", "same"])
def test_keys_beside_values_equal_the_twin(values):
    layer = attention((QUERY.shape, values.shape, KEYS.shape))
    masks = {"value_mask": KEYS_MASK, "key_mask": KEYS_MASK[::-1], "attention_mask": MASK}
    for arguments, sees in (
        ({}, lambda b, t, s: True),
        (masks, lambda b, t, s: KEYS_MASK[b, s] and KEYS_MASK[1 - b, s] and MASK[b, t, s]),
    ):
        check_twin(layer, QUERY, values, arguments, sees, KEYS)


@pytest.mark.parametrize("value_dim", [None, 7])
def test_self_attention_equals_its_twin(value_dim):
    layer = attention((KEYS.shape,), value_dim, output_shape=13)
    arguments = {"mask": KEYS_MASK, "use_causal_mask": True}
    inputs = np.where(KEYS_MASK[..., None], KEYS, 0)  # As which padded queries are read.
    check_twin(layer, inputs, inputs, arguments, lambda b, t, s: s <= t and KEYS_MASK[b, s])


def test_a_mask_by_head():
    _, weights = attention()(QUERY, KEYS, attention_mask=HEAD_MASK, **WEIGHTS)
    np.testing.assert_array_equal(weights.numpy() > 0, HEAD_MASK)


def test_one_product_equals_three():
    layer = attention((KEYS.shape,))
    outputs = layer(KEYS, **WEIGHTS)
    check(layer(KEYS, KEYS, **WEIGHTS), outputs)
    check(layer(KEYS, KEYS, KEYS.copy(), **WEIGHTS), outputs)


def test_weight_dropout_only_in_training():
    layer = MultiHeadAttention(2, 3, dropout=0.5)
    outputs, weights = layer(KEYS, **WEIGHTS)
    dropped, same = layer(KEYS, training=True, **WEIGHTS)
    np.testing.assert_allclose(same, weights, rtol=1e-6)
    assert not np.allclose(dropped, outputs)


def test_fully_masked_rows_have_finite_gradients():
    layer, restricted = MultiHeadAttention(2, 3), RestrictedSelfAttention(2, 3, 1)
    query = tf.Variable(QUERY)
    for call in (
        lambda: layer(query, KEYS, value_mask=np.zeros((2, 11), bool), **WEIGHTS),
        lambda: restricted(query, mask=np.zeros((2, 3), bool), **WEIGHTS),
    ):
        with tf.GradientTape() as tape:
            outputs, weights = call()
            loss = tf.reduce_sum(tf.sin(outputs)) + tf.reduce_sum(weights**2)
        assert not np.any(outputs) and not np.any(weights)
        assert np.isfinite(tape.gradient(loss, query)).all()


def test_keras_masks_are_taken():
    tokens = np.array([[3, 2, 0, 0, 0], [1, 4, 2, 6, 0]])
    embedded = keras.layers.Embedding(7, 5, mask_zero=True)(tokens)
    for layer, inputs in (
        (MultiHeadAttention(2, 3), [embedded]),
        (MultiHeadAttention(2, 3), [QUERY, embedded]),
        (TransformerEncoderBlock(2, 3, 3, 7), [embedded]),
        (TransformerDecoderBlock(2, 3, 3, 7), [QUERY, embedded]),
    ):
        assert not np.any(layer(*inputs, **WEIGHTS)[-1][0, ..., 2:])
    weights = RestrictedSelfAttention(2, 3, 1)(embedded, **WEIGHTS)[1]
    assert not np.any(weights[0, :, 1, 2:]) and not np.any(weights[0, :, 3:])


@pytest.mark.parametrize("length", [1, 5, 13, 67])
@pytest.mark.parametrize(("radius", "block"), [(0, None), (1, 1), (2, 3), (5, 5), (7, None)])
def test_restricted_equals_full_under_a_band(length, radius, block):
    query, keys = RANDOM.normal(size=(2, 2, 3, length, 5)).astype("float32")
    values = RANDOM.normal(size=(2, 3, length, 7)).astype("float32")
    mask = RANDOM.random((2, length)) < 0.7
    context, band = restricted_attention(query, keys, values, radius, mask, block=block)
    full = np.exp(query @ np.swapaxes(keys, -1, -2) / np.sqrt(5))
    full = full * (sliding_window_mask(length, length, radius + 1).numpy() & mask[:, None, None, :])
    full = full / np.maximum(full.sum(-1, keepdims=True), 1e-30)
    np.testing.assert_allclose(context, full @ values, rtol=1e-4, atol=1e-5)
    for t, j in np.ndindex(length, 2 * radius + 1):
        s = t + j - radius
        expected = full[..., t, s] if 0 <= s < length else np.zeros((2, 3))
        np.testing.assert_allclose(band[..., t, j], expected, rtol=1e-4, atol=1e-6)


def test_restricted_layer_equals_the_full_layer_under_a_band():
    restricted = RestrictedSelfAttention(2, 3, 2, 5, output_shape=13)
    full = attention((KEYS.shape,), output_shape=13)
    restricted.build(KEYS.shape)
    restricted.set_weights(full.get_weights())
    outputs = restricted(KEYS, mask=KEYS_MASK)
    expected = full(KEYS, mask=KEYS_MASK, attention_mask=sliding_window_mask(11, 11, 3))
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)


def test_a_projected_memory_is_read_as_keys_are():
    layer = attention()
    memory, bias = layer.project(KEYS), layer.key_bias.numpy()[:, None]
    expected = np.einsum("bse,ehd->bhsd", KEYS, layer.key_kernel) + bias  # No output shows it.
    np.testing.assert_allclose(memory.keys, expected, rtol=1e-5, atol=1e-5)
    outputs = layer.attend(QUERY, memory, KEYS_MASK)
    check(outputs, layer(QUERY, KEYS, value_mask=KEYS_MASK, **WEIGHTS))


def test_a_cache_extended_in_steps_equals_the_whole_sequence():
    layer = attention((KEYS.shape,))
    expected = layer(KEYS, use_causal_mask=True)
    cache, begin = layer.empty_cache(2, 13), 0
    for steps in (1, 4, 1, 5):
        time = tf.fill((2,), begin)
        coming = next_steps(own_caches(2, 1, 13), time, steps, layer.num_heads)
        part = slice(begin, begin + steps)
        rows, cache = layer.extend(KEYS[:, part].reshape(2 * steps, -1), cache, coming)
        expected_rows = expected.numpy()[:, part].reshape(2 * steps, -1)
        np.testing.assert_allclose(rows, expected_rows, rtol=1e-5, atol=1e-6)
        begin += steps


def test_feed_forward_and_embedding_equal_their_formulas():
    layer = FeedForward(3)
    outputs = layer(KEYS)
    hidden, output, _, _ = layer.get_weights()
    np.testing.assert_allclose(outputs, np.maximum(0, KEYS @ hidden) @ output, rtol=1e-5, atol=1e-6)
    embedding = ScaledEmbedding(13, 5)
    embedded = embedding(np.array([[3, 0, 12]]))
    (table,) = embedding.get_weights()
    np.testing.assert_allclose(embedded[0], table[[3, 0, 12]] * 5**0.5, rtol=1e-6)
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
    with pytest.raises(ValueError, match=r"Expected normalize_first to be.*'none'"):
        TransformerEncoderBlock(2, 3, 3, 7, normalize_first="none")
    with pytest.raises(ValueError, match="Received: dropout=2"):
        TransformerDecoderBlock(2, 3, 3, 7, dropout=2)
    with pytest.raises(ValueError, match="Received: epsilon=0"):
        TransformerDecoderBlock(2, 3, 3, 7, epsilon=0)
    with pytest.raises(ValueError, match="Received: output_dim=0"):
        ScaledEmbedding(3, 0)


def test_sequences_share_the_keys_of_their_example():
    block = TransformerDecoderBlock(2, 3, 5, 13, normalize_first=True, use_bias=True)
    random = np.random.default_rng(3)
    inputs, keys = (
        random.normal(size=shape).astype("float32") for shape in ((6, 5, 7), (2, 11, 7))
    )
    mask = np.arange(11) < np.array([[11], [4]])
    outputs = block(inputs, keys, value_mask=mask, **WEIGHTS)
    keys, mask = (np.repeat(array, 3, axis=0) for array in (keys, mask))
    alone = block(inputs, keys, value_mask=mask, **WEIGHTS)
    for output, wanted in zip(outputs, alone, strict=True):
        np.testing.assert_allclose(output, wanted, atol=1e-6)


def grouped(groups=2, **options):
    """A layer of 6 heads with weights at random, and one of as many keys with the same ones."""
    layer = MultiHeadAttention(6, 4, 5, num_key_value_heads=groups, **options)
    whole = MultiHeadAttention(6, 4, 5, **options)
    for each in (layer, whole):
        each.build(QUERY.shape, KEYS.shape)
    weights = [RANDOM.normal(0, 0.7, weight.shape) for weight in layer.get_weights()]
    layer.set_weights(weights)
    repeated = [
        np.repeat(weight, 6 // groups, axis=-2) if 2 <= place < 6 else weight
        for place, weight in enumerate(weights)
    ]
    whole.set_weights(repeated)
    return layer, whole


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_grouped_queries_equal_repeated_keys_and_values(groups):
    layer, whole = grouped(groups)
    options = {"value_mask": KEYS_MASK, "attention_mask": MASK, **WEIGHTS}
    check(layer(QUERY, KEYS, **options), whole(QUERY, KEYS, **options))
    check(layer.attend(QUERY, layer.project(KEYS)), whole.attend(QUERY, whole.project(KEYS)))


def test_grouped_queries_equal_those_of_keras():
    theirs = keras.layers.GroupQueryAttention(3, 6, 2)
    outputs = theirs(KEYS, KEYS, use_causal_mask=True)
    layer = MultiHeadAttention(6, 3, num_key_value_heads=2)
    layer.build(KEYS.shape)
    layer.set_weights(theirs.get_weights())
    np.testing.assert_allclose(layer(KEYS, use_causal_mask=True), outputs, atol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
def test_a_sliding_window_equals_that_of_keras(causal):
    theirs = keras.layers.MultiHeadAttention(2, 3, sliding_window=3)
    outputs = theirs(KEYS, KEYS, use_causal_mask=causal)
    layer = MultiHeadAttention.from_config(theirs.get_config())
    layer.build(KEYS.shape)
    layer.set_weights(theirs.get_weights())
    ours, weights = layer(KEYS, use_causal_mask=causal, **WEIGHTS)
    np.testing.assert_allclose(ours, outputs, atol=1e-5)
    seen = np.array(weights)[0, 0] > 0
    assert seen[5, 3:6].all() and not seen[5, :3].any() and seen[5, 6] == (not causal)


@pytest.mark.parametrize("length", [5, 17])
def test_the_cache_of_a_window_is_as_wide_as_the_window(length):
    layer = MultiHeadAttention(6, 4, 5, num_key_value_heads=2, sliding_window=7)
    shapes = [part.shape for part in layer.empty_cache(3, length)]
    assert shapes == [(3, 2, min(length, 7), 4), (3, 2, min(length, 7), 5)]


def test_a_soft_cap_bounds_scores():
    layer, inputs = MultiHeadAttention(2, 3, soft_cap=0.5), 100 * KEYS
    weights = np.array(layer(inputs, **WEIGHTS)[1])
    assert np.all(weights.max(-1) / weights.min(-1) < np.exp(2 * 0.5) * 1.001)
    free = MultiHeadAttention(2, 3, soft_cap=1e4)
    plain = MultiHeadAttention(2, 3)
    for each in (free, plain):
        each.build(KEYS.shape)
    free.set_weights(plain.get_weights())
    check(free(KEYS, **WEIGHTS), plain(KEYS, **WEIGHTS))


@pytest.mark.parametrize("dtype", ["int32", "bfloat16"])
def test_a_bias_of_another_dtype_does_not_round_that_of_positions(dtype):
    layer = MultiHeadAttention(2, 3, positions=AlibiBias(2))
    biased = layer(KEYS, attention_bias=tf.zeros((11, 11), dtype), **WEIGHTS)
    for output, wanted in zip(biased, layer(KEYS, **WEIGHTS), strict=True):
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-6)


def test_one_layer_of_positions_serves_a_stack(tmp_path):
    positions, inputs = RelativeBias(2, 8, 11), keras.Input((11, 5))
    hidden = inputs
    for _ in range(2):
        hidden = TransformerEncoderBlock(2, 3, 3, 7, positions=positions)(hidden)
    model = keras.Model(inputs, hidden)
    assert sum("table" in weight.path for weight in model.weights) == 1
    model.save(tmp_path / "stack.keras")
    again = keras.saving.load_model(tmp_path / "stack.keras")
    assert len(again.weights) == len(model.weights)
    np.testing.assert_allclose(again(KEYS[..., :5]), model(KEYS[..., :5]), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MultiHeadAttention(6, 4, num_key_value_heads=4),
            r"num_key_value_heads that divides num_heads=6\. Received: num_key_value_heads=4",
        ),
        (lambda: MultiHeadAttention(6, 4, num_key_value_heads=0), ">= 1. Received: num_key_value"),
        (lambda: MultiHeadAttention(2, 3, sliding_window=0), "sliding_window >= 1"),
        (lambda: MultiHeadAttention(2, 3, soft_cap=0.0), r"soft_cap > 0\. Received: soft_cap=0\.0"),
        (
            lambda: MultiHeadAttention(2, 3, positions=RotaryPositions()),
            r"even key_dim, for RotaryPositions turns pairs .*key_dim=3",
        ),
        (
            lambda: MultiHeadAttention(2, 4, positions=RotaryPositions(units=6)),
            r"at least units=6 .*Received: key_dim=4",
        ),
        (lambda: RotaryPositions(units=3), "even units"),
        (lambda: MultiHeadAttention(2, 3, soft_cap=np.inf), "soft_cap > 0, a finite number"),
        (lambda: RotaryPositions(1.0), "base > 1"),
        (lambda: RotaryPositions("10"), "base > 1, a finite number. Received: base='10'"),
        (lambda: RotaryPositions()(KEYS), r"shape \(B, H, T, D\)\. Received: shape=\(2, 11, "),
        (
            lambda: MultiHeadAttention(2, 3, positions=AlibiBias(3)),
            r"AlibiBias of num_heads=2, as the attention has\. Received: num_heads=3",
        ),
        (lambda: MultiHeadAttention(2, 3, positions="rotary"), "Received: positions='rotary'"),
        (lambda: RelativeBias(2, 6, 1), "max_distance >= 2"),
        (lambda: RelativeBias(2, 7), "even num_buckets"),
        (lambda: TransformerEncoderBlock(2, 3, 3, 7, parallel=True), "normalize_first=True with"),
        (lambda: TransformerEncoderBlock(2, 3, 3, 7, normalization="batch"), "in .'layer', 'rms'"),
        (
            lambda: MultiHeadAttention(2, 3, sliding_window=3).attend(QUERY, None),
            "attend to a memory.*Received: a sliding_window",
        ),
    ],
)
def test_parts_that_do_not_fit(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_bias_of_minus_infinity_masks():
    layer, mask = MultiHeadAttention(2, 3), np.random.default_rng(3).random((3, 5)) < 0.6
    mask[1] = False
    query, value = QUERY[:, :3], KEYS[:, :5]
    bias = np.where(mask, 0.0, -np.inf).astype("float32")
    options = {"return_attention_scores": True}
    expected = layer(query, value, attention_mask=mask, **options)
    for one, other in zip(layer(query, value, attention_bias=bias, **options), expected):
        check(one, other)
    check(layer(query, value, attention_bias=bias), expected[0])
