"""Normalized queries and keys, and sinks: against the slow twin and peers."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import MultiHeadAttention, RotaryPositions
from keras_attn.models import TransformerConfig
from tests.layers.cached_beams import randomized
from tests.reference import transformer as twin

RANDOM = np.random.default_rng(5)
QUERY = RANDOM.normal(size=(2, 3, 5)).astype("float32")
KEYS = RANDOM.normal(size=(2, 11, 7)).astype("float32")
KEYS_MASK = np.arange(11) < np.array([[4], [11]])
WEIGHTS = {"return_attention_scores": True}
each_kind = pytest.mark.parametrize("kind", ["layer", "rms", "l2"])


def attention(*shapes, **options):
    """6 heads of queries, 2 of keys; d_k 3, d_v 5; weights at random."""
    return randomized(MultiHeadAttention(6, 3, 5, num_key_value_heads=2, **options), *shapes)


def check_twin(layer, query, keys, mask, **options):
    outputs, weights = layer(query, keys, value_mask=mask, **WEIGHTS)
    named = {weight.name: np.array(weight.value, "float64") for weight in layer.weights}
    for row in range(len(query)):
        expected = twin.multi_head(
            named, query[row], keys[row], lambda t, s, row=row: mask[row, s], **options
        )
        np.testing.assert_allclose(outputs[row], expected[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected[1], rtol=1e-4, atol=1e-6)


@each_kind
def test_normalized_queries_and_keys_equal_their_twin(kind):
    layer = attention(QUERY.shape, KEYS.shape, query_key_normalization=kind)
    check_twin(layer, QUERY, KEYS, KEYS_MASK, norm=kind)
    memory = layer.attend(QUERY, layer.project(KEYS), KEYS_MASK)
    beside = layer(QUERY, KEYS, KEYS.copy(), value_mask=KEYS_MASK, **WEIGHTS)
    for output, other, wanted in zip(
        memory, beside, layer(QUERY, KEYS, value_mask=KEYS_MASK, **WEIGHTS)
    ):
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(other, wanted, rtol=1e-5, atol=1e-6)


@each_kind
def test_scores_do_not_grow_with_the_inputs(kind):
    layer = attention(KEYS.shape, use_bias=False, query_key_normalization=kind)
    np.testing.assert_allclose(
        layer(1e4 * KEYS, **WEIGHTS)[1], layer(KEYS, **WEIGHTS)[1], atol=1e-4
    )


def test_sinks_equal_their_twin():
    layer = attention(QUERY.shape, KEYS.shape, use_sinks=True)
    check_twin(layer, QUERY, KEYS, KEYS_MASK)
    expected = layer(QUERY, KEYS, value_mask=KEYS_MASK, **WEIGHTS)
    memory = layer.attend(QUERY, layer.project(KEYS), KEYS_MASK)
    for output, wanted in zip(memory, expected, strict=True):
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-6)


def test_a_high_sink_takes_all_the_weight_and_a_low_one_takes_none():
    layer, plain = MultiHeadAttention(2, 3, use_sinks=True), MultiHeadAttention(2, 3)
    randomized(plain, KEYS.shape), layer.build(KEYS.shape)
    layer.set_weights([*plain.get_weights(), np.array([100.0, -100.0])])
    weights = layer(KEYS, **WEIGHTS)[1]
    assert np.max(weights[:, 0]) < 1e-30
    np.testing.assert_allclose(weights[:, 1], plain(KEYS, **WEIGHTS)[1][:, 1], rtol=1e-5)


def test_sinks_beside_fully_masked_rows_have_finite_gradients():
    layer, query = attention(QUERY.shape, KEYS.shape, use_sinks=True), tf.Variable(QUERY)
    mask = np.array([[True], [False]]) & KEYS_MASK
    with tf.GradientTape() as tape:
        outputs, weights = layer(query, KEYS, value_mask=mask, **WEIGHTS)
        loss = tf.reduce_sum(tf.sin(outputs)) + tf.reduce_sum(weights**2)
    assert not np.any(weights[1]) and np.all(weights[0, ..., :4] > 0)
    slope, sinks = tape.gradient(loss, (query, layer.sinks.value))
    assert np.isfinite(slope).all() and np.all(np.abs(sinks) > 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"query_key_normalization": "batch"},
            r"in \('layer', 'rms', 'l2'\)\. Received: .*'batch'",
        ),
        ({"use_sinks": 1}, "Expected use_sinks to be True or False. Received: use_sinks=1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(2, 3, **options)
    with pytest.raises(ValueError, match=message):
        TransformerConfig(13, **options)


@pytest.mark.systems
def test_normalization_equals_that_of_qwen3():
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from transformers.models.qwen3 import modeling_qwen3 as peer

    config = transformers.Qwen3Config(
        hidden_size=7,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=4,
        attn_implementation="eager",
    )
    theirs, inputs = peer.Qwen3Attention(config, 0), torch.from_numpy(KEYS)
    options = {"use_bias": False, "num_key_value_heads": 2, "positions": RotaryPositions(1e4)}
    layer = MultiHeadAttention(6, 4, query_key_normalization="rms", **options)
    randomized(layer, KEYS.shape)
    named = {weight.name: weight for weight in layer.weights}
    parts = ("q_proj", "k_proj", "v_proj", "o_proj")
    with torch.no_grad():
        for name, part in zip(("query", "key", "value", "output"), parts):
            kernel = np.array(named[f"{name}_kernel"]).reshape(getattr(theirs, part).weight.T.shape)
            getattr(theirs, part).weight.copy_(torch.from_numpy(kernel.T))
        theirs.q_norm.weight.copy_(torch.from_numpy(np.array(named["query_gain"])))
        theirs.k_norm.weight.copy_(torch.from_numpy(np.array(named["key_gain"])))
        turns = peer.Qwen3RotaryEmbedding(config)(inputs, torch.arange(11)[None])
        mask = torch.full((11, 11), -1e30).triu(1)
        expected, weights = theirs(inputs, turns, mask)
    outputs = layer(KEYS, use_causal_mask=True, **WEIGHTS)
    np.testing.assert_allclose(outputs[0], expected.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs[1], weights.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.systems
def test_sinks_equal_those_of_gpt_oss():
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    layer = attention(QUERY.shape, KEYS.shape, use_sinks=True)
    projected = layer.project(KEYS)
    query, keys, values = (
        torch.from_numpy(np.array(part)) for part in (layer.project_query(QUERY), *projected)
    )
    module = torch.nn.Module()
    module.num_key_value_groups, module.sinks = 3, torch.from_numpy(np.array(layer.sinks))
    mask = torch.where(torch.from_numpy(KEYS_MASK)[:, None, None], 0.0, -1e30)
    context, weights = eager_attention_forward(module, query, keys, values, mask, 3**-0.5)
    merged = layer.merge(np.moveaxis(context.numpy(), 1, 2))
    outputs = layer(QUERY, KEYS, value_mask=KEYS_MASK, **WEIGHTS)
    np.testing.assert_allclose(outputs[0], merged, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs[1], weights.numpy(), rtol=1e-4, atol=1e-6)
