"""Multi-head latent attention against its slow twin, its cache and that of transformers."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.layers import AlibiBias, MultiHeadLatentAttention, RotaryPositions
from keras_attn.ops import next_steps, own_caches, owning_from
from tests.reference import latent_attention as twin

RANDOM = np.random.default_rng(13)
INPUTS = RANDOM.normal(size=(2, 7, 5)).astype("float32")
PADDING = np.arange(7) < np.array([[4], [7]])
PAIRS = RANDOM.random((2, 7, 7)) < 0.5
CAUSAL = {"use_causal_mask": True}
TURN = {"units": 2, "interleaved": True, "base": 30.0}


def attention(**options):
    """3 heads, d_k 2, d_c 11, d_r 4, d_v 5, weights at random."""
    layer = MultiHeadLatentAttention(3, 2, 11, 4, 5, **options)
    layer.build(INPUTS.shape)
    for weight in layer.weights:
        weight.assign(RANDOM.normal(0, 0.7, weight.shape))
    return layer


def parameters(layer):
    """float64 arrays by the twin's names."""
    named = {}
    for weight in layer.weights:
        *_, owner, name = weight.path.split("/")
        named[owner if name == "scale" else name] = np.array(weight, "float64")
    return named


@pytest.mark.parametrize(
    ("options", "turn"),
    [
        ({}, None),
        ({"query_latent_dim": 13, "positions": RotaryPositions(**TURN), "epsilon": 0.1}, TURN),
    ],
)
@pytest.mark.parametrize(
    ("arguments", "sees"),
    [
        ({}, lambda b, t, s: True),
        ({"mask": PADDING, **CAUSAL}, lambda b, t, s: PADDING[b, s] and s <= t),
        ({"attention_mask": PAIRS}, lambda b, t, s: PAIRS[b, t, s]),
    ],
)
def test_equals_its_twin(options, turn, arguments, sees):
    layer = attention(**options)
    inputs = np.where(PADDING[..., None], INPUTS, 0) if "mask" in arguments else INPUTS
    outputs, weights = layer(inputs, return_attention_scores=True, **arguments)
    for row in range(2):
        expected = twin.attention(
            parameters(layer),
            inputs[row],
            lambda t, s, row=row: sees(row, t, s),
            layer.epsilon,
            turn,
        )
        np.testing.assert_allclose(outputs[row], expected[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("query_latent_dim", [None, 13])
def test_a_cache_extended_in_steps_equals_the_whole_sequence(query_latent_dim):
    layer = attention(query_latent_dim=query_latent_dim)
    expected = layer(INPUTS, **CAUSAL)
    cache, begin = layer.empty_cache(2, 7), 0
    assert cache.shape == (2, 1, 7, 11 + 4)
    for steps in (1, 3, 1, 2):
        coming = next_steps(own_caches(2, 1, 7), tf.fill((2,), begin), steps, 1)
        part = slice(begin, begin + steps)
        rows, cache = layer.extend(INPUTS[:, part].reshape(2 * steps, 5), cache, coming)
        wanted = expected.numpy()[:, part].reshape(2 * steps, 5)
        np.testing.assert_allclose(rows, wanted, rtol=1e-4, atol=1e-5)
        begin += steps


def test_hypotheses_see_the_steps_of_their_ancestors():
    layer, width, rows, length = attention(), 3, 6, 7
    kernels, cache = layer.kernels(), layer.empty_cache(rows, length)
    ancestors, history, begin = own_caches(2, width, length), np.zeros((rows, 0, 5), "float32"), 0
    for steps in (2, 1, 1, 1):
        time = tf.fill((rows,), begin)
        parents = RANDOM.integers(0, width, (2, width)).astype("int32")
        places = (np.arange(2)[:, None] * width + parents).reshape(-1)
        ancestors = owning_from(ops.take(ancestors, places, axis=0), time)
        new = RANDOM.normal(size=(rows, steps, 5)).astype("float32")
        history = np.concatenate([history[places], new], axis=1)
        coming = next_steps(ancestors, time, steps, 1)
        outputs, cache = layer.extend(new.reshape(-1, 5), cache, coming, kernels)
        expected = layer(history, **CAUSAL).numpy()[:, -steps:].reshape(-1, 5)
        np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)
        begin += steps


def test_steps_that_are_not_real_leave_the_cache():
    layer, real = attention(), PADDING[:, :5]
    coming = next_steps(own_caches(2, 1, 5), tf.zeros((2,), "int32"), 5, 1, real)
    inputs = np.where(real[..., None], INPUTS[:, :5], np.nan)
    _, cache = layer.extend(inputs.reshape(10, 5), layer.empty_cache(2, 5), coming)
    assert not np.any(cache[0, :, 4:]) and np.all(np.any(cache[1], -1))


def test_turned_parts_depend_on_the_distance_only():
    layer = attention()
    for weight in layer.weights:
        if weight.name in ("query_kernel", "latent_kernel"):
            weight.assign(np.zeros(weight.shape))
    same = np.broadcast_to(INPUTS[:1, :1], (1, 7, 5))
    weights = np.array(layer(same, return_attention_scores=True)[1])[0]
    scores = np.log(weights)
    distances = scores - scores.diagonal(axis1=1, axis2=2)[..., None]
    for shift in range(-6, 7):
        diagonal = distances.diagonal(shift, 1, 2)
        np.testing.assert_allclose(diagonal, diagonal[:, :1].repeat(7 - abs(shift), 1), atol=1e-5)
    assert np.ptp(distances) > 0.1


def test_dropout_only_in_training():
    layer = attention(dropout=0.5)
    assert not np.allclose(layer(INPUTS, training=True), layer(INPUTS))


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: key_value_latent_dim=0"):
        MultiHeadLatentAttention(2, 3, 0, 4)
    with pytest.raises(ValueError, match="Received: query_latent_dim=0"):
        MultiHeadLatentAttention(2, 3, 5, 4, query_latent_dim=0)
    with pytest.raises(ValueError, match=r"even rotary_dim\. Received: rotary_dim=3"):
        MultiHeadLatentAttention(2, 3, 5, 3)
    with pytest.raises(ValueError, match="Expected positions to be RotaryPositions"):
        MultiHeadLatentAttention(2, 3, 5, 4, positions=AlibiBias(2))
    with pytest.raises(ValueError, match="at least units=6"):
        MultiHeadLatentAttention(2, 3, 5, 4, positions=RotaryPositions(units=6))


@pytest.mark.slow
@pytest.mark.parametrize("query_latent_dim", [None, 13])
def test_equals_that_of_transformers(query_latent_dim):
    torch = pytest.importorskip("torch")
    deepseek = pytest.importorskip("transformers.models.deepseek_v2.modeling_deepseek_v2")
    given = RANDOM.normal(size=(2, 7, 15)).astype("float32")
    config = deepseek.DeepseekV2Config(
        hidden_size=15,
        num_attention_heads=3,
        num_key_value_heads=3,
        q_lora_rank=query_latent_dim,
        kv_lora_rank=14,  # Even: theirs sees pairs as complex numbers.
        qk_nope_head_dim=2,
        qk_rope_head_dim=4,
        v_head_dim=7,
        attn_implementation="eager",
    )
    torch.manual_seed(3)
    theirs = deepseek.DeepseekV2Attention(config, 0)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    layer = MultiHeadLatentAttention(
        3, 2, 14, 4, 7, query_latent_dim, positions=RotaryPositions(interleaved=True)
    )
    layer.build(given.shape)
    weights = {name: value.detach().numpy() for name, value in theirs.named_parameters()}
    query = weights["q_proj.weight" if query_latent_dim is None else "q_b_proj.weight"]
    query = query.T.reshape(-1, 3, 2 + 4)
    layer.query_kernel.assign(query[..., :2])
    layer.rotary_query_kernel.assign(query[..., 2:])
    if query_latent_dim is not None:
        layer.query_latent_kernel.assign(weights["q_a_proj.weight"].T)
        layer.query_norm.scale.assign(weights["q_a_layernorm.weight"])
    latent = weights["kv_a_proj_with_mqa.weight"].T
    layer.latent_kernel.assign(latent[:, :14])
    layer.rotary_key_kernel.assign(latent[:, 14:])
    layer.latent_norm.scale.assign(weights["kv_a_layernorm.weight"])
    both = weights["kv_b_proj.weight"].T.reshape(14, 3, 2 + 7)
    layer.key_kernel.assign(both[..., :2])
    layer.value_kernel.assign(both[..., 2:])
    layer.output_kernel.assign(weights["o_proj.weight"].T.reshape(3, 7, 15))
    places = torch.arange(7)[None]
    inputs = torch.from_numpy(given)
    turns = deepseek.DeepseekV2RotaryEmbedding(config)(inputs, places)
    above = torch.full((7, 7), -torch.inf).triu(1)[None, None]
    with torch.no_grad():
        expected, scores = theirs(inputs, above, position_embeddings=turns)
    outputs, shown = layer(given, return_attention_scores=True, **CAUSAL)
    np.testing.assert_allclose(outputs, expected.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(shown, scores.numpy(), rtol=1e-4, atol=1e-6)
