"""Differential attention against its slow twin and a peer."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import AlibiBias, DifferentialAttention, RotaryPositions
from keras_attn.ops import differential_scale, initial_lambda
from tests.layers.cached_beams import randomized
from tests.reference import differential_attention as twin

RANDOM = np.random.default_rng(5)
QUERY = RANDOM.normal(size=(2, 3, 5)).astype("float32")
KEYS = RANDOM.normal(size=(2, 11, 7)).astype("float32")
VALUES = RANDOM.normal(size=(2, 11, 13)).astype("float32")
MASK = RANDOM.random((2, 3, 11)) < 0.5
KEYS_MASK = np.arange(11) < np.array([[4], [0]])
WEIGHTS = {"return_attention_scores": True}


def attention(*shapes):
    """6 heads of queries, 2 of keys; d 3, d_v 5; weights at random, λ about 0.3."""
    options = {"lambda_init": 0.3, "epsilon": 1e-3, "num_key_value_heads": 2}
    layer = randomized(DifferentialAttention(6, 6, 5, **options), *shapes)
    layer.lambda_keys.assign(0.2 * np.array(layer.lambda_keys))
    return layer


def check_twin(layer, outputs, weights, query, values, keys, sees):
    named = {weight.name: np.array(weight.value, "float64") for weight in layer.weights}
    for row in range(len(query)):
        arrays = query[row], values[row], lambda t, s, row=row: sees(row, t, s), keys[row]
        expected = twin.differential(named, *arrays, layer.lambda_init, layer.epsilon)
        np.testing.assert_allclose(outputs[row], expected[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(weights[row], expected[1], rtol=1e-4, atol=1e-5)


def test_attention_to_a_memory_equals_its_twin():
    layer = attention(QUERY.shape, VALUES.shape, KEYS.shape)
    masks = {"value_mask": KEYS_MASK, "attention_mask": MASK}
    outputs, weights = layer(QUERY, VALUES, KEYS, **masks, **WEIGHTS)
    arrays = QUERY, VALUES, KEYS
    check_twin(layer, outputs, weights, *arrays, lambda b, t, s: MASK[b, t, s] and KEYS_MASK[b, s])
    assert np.min(weights) < 0 and not np.any(weights[1])


def test_causal_self_attention_equals_its_twin():
    layer = attention(KEYS.shape)
    outputs, weights = layer(KEYS, use_causal_mask=True, **WEIGHTS)
    check_twin(layer, outputs, weights, KEYS, KEYS, KEYS, lambda b, t, s: s <= t)
    rest = 1 - differential_scale(layer.lambda_queries, layer.lambda_keys, 0.3)
    np.testing.assert_allclose(np.sum(weights, -1), np.full((2, 6, 11), rest), rtol=1e-4)


def test_equal_maps_leave_what_lambda_leaves():
    layer = DifferentialAttention(2, 6, lambda_init=0.25, positions=AlibiBias(2))
    layer.build(KEYS.shape)
    for kernel in (layer.query_kernel, layer.key_kernel):
        kernel.assign(np.tile(np.array(kernel)[..., :3], 2))
    layer.lambda_queries.assign(np.zeros((2, 3)))
    weights = layer(KEYS, **WEIGHTS)[1]
    np.testing.assert_allclose(np.sum(weights, -1), np.full((2, 2, 11), 0.75), rtol=1e-5)
    assert np.all(weights > 0)


def test_fully_masked_rows_have_finite_gradients():
    layer, query = DifferentialAttention(2, 6), tf.Variable(QUERY)
    with tf.GradientTape() as tape:
        outputs, weights = layer(query, KEYS, value_mask=KEYS_MASK, **WEIGHTS)
        loss = tf.reduce_sum(tf.sin(outputs)) + tf.reduce_sum(weights**2)
    assert not np.any(outputs[1]) and not np.any(weights[1]) and np.any(outputs[0])
    for slope in tape.gradient(loss, (query, *(w.value for w in layer.trainable_weights))):
        assert slope is None or np.isfinite(slope).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key_dim": 3}, "Expected an even key_dim, .*Received: key_dim=3"),
        ({"lambda_init": 1.0}, "0 <= lambda_init < 1. Received: lambda_init=1.0"),
        ({"epsilon": 0.0}, "epsilon > 0"),
        ({"positions": RotaryPositions()}, "even key_dim, for Rotary.*key_dim=3"),
        ({"positions": AlibiBias(3)}, "AlibiBias of num_heads=2"),
    ],
)
def test_parts_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        DifferentialAttention(**{"num_heads": 2, "key_dim": 6, **options})


@pytest.mark.systems
def test_it_equals_that_of_diff_llama():
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from transformers.models.diffllama import modeling_diffllama as peer

    config = transformers.DiffLlamaConfig(
        hidden_size=48,
        num_attention_heads=12,
        num_key_value_heads=4,
        head_dim=4,
        attn_implementation="eager",
    )
    theirs = peer.DiffLlamaAttention(config, layer_idx=2)
    inputs = RANDOM.normal(size=(2, 11, 48)).astype("float32")
    layer = DifferentialAttention(
        6,
        8,
        lambda_init=initial_lambda(3),
        epsilon=config.rms_norm_eps,
        positions=RotaryPositions(),
        use_bias=False,
        num_key_value_heads=2,
    )
    layer.build(inputs.shape)
    parts = {"query": theirs.q_proj, "key": theirs.k_proj, "value": theirs.v_proj}
    for name, part in parts.items():  # Theirs has the first halves of all heads, then the second.
        kernel = getattr(layer, f"{name}_kernel")
        matrix = part.weight.detach().numpy().T.reshape(48, 2, -1, 4)
        kernel.assign(np.moveaxis(matrix, 1, 2).reshape(kernel.shape))
    output = theirs.o_proj.weight.detach().numpy().T
    layer.output_kernel.assign(output.reshape(layer.output_kernel.shape))
    vectors = [(getattr(theirs, f"lambda_{x}1"), getattr(theirs, f"lambda_{x}2")) for x in "qk"]
    for weight, pair in zip((layer.lambda_queries, layer.lambda_keys), vectors):
        weight.assign(torch.stack(pair).detach().numpy())
    with torch.no_grad():
        tensor = torch.from_numpy(inputs)
        turns = peer.DiffLlamaRotaryEmbedding(config)(tensor, torch.arange(11)[None])
        mask = torch.full((11, 11), -1e30).triu(1)
        expected = theirs(tensor, turns, mask)[0].numpy()
    outputs = layer(inputs, use_causal_mask=True)
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
