"""Attention layers against slow twins, and their equivalences."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_attn.layers import (
    AdditiveAttention,
    DotAttention,
    GeneralAttention,
    MultiHeadAttention,
    MultiplicativeAttention,
    ScaledDotAttention,
)
from keras_attn.models import Transformer, TransformerConfig
from keras_attn.ops.attend import attention_weights
from keras_attn.ops.masks import causal_mask, combine_masks, padding_mask
from tests.reference import attention as twin

RANDOM = np.random.default_rng(3)
QUERY = RANDOM.normal(size=(2, 3, 5)).astype("float32")
KEYS = RANDOM.normal(size=(2, 11, 5)).astype("float32")
WIDE = RANDOM.normal(size=(2, 11, 7)).astype("float32")
VALUES = RANDOM.normal(size=(2, 11, 13)).astype("float32")
MASK = RANDOM.random((2, 3, 11)) < 0.5
WEIGHTS = {"return_attention_scores": True}


def check(actual, expected):
    for value, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", [None, MASK])
def test_scores_equal_their_formulas(mask):
    arguments = {"value": VALUES, "attention_mask": mask, **WEIGHTS}
    for layer, score in ((DotAttention(), twin.dot), (ScaledDotAttention(), twin.scaled_dot)):
        outputs = layer(QUERY, key=KEYS, **arguments)
        check(outputs, twin.attend(score, QUERY, KEYS, VALUES, mask))
    layer = MultiplicativeAttention()
    outputs = layer(QUERY, key=WIDE, **arguments)
    (kernel,) = layer.get_weights()

    def bilinear(query, key):
        return twin.multiplicative(query, key, kernel)

    check(outputs, twin.attend(bilinear, QUERY, WIDE, VALUES, mask))
    layer = AdditiveAttention(3)
    outputs = layer(QUERY, key=WIDE, **arguments)
    query_kernel, key_kernel, vector = layer.get_weights()

    def additive(query, key):
        return twin.additive(query, key, query_kernel, key_kernel, vector[:, 0])

    check(outputs, twin.attend(additive, QUERY, WIDE, VALUES, mask))


def test_general_attention_equals_projections_then_score():
    layer = GeneralAttention(ScaledDotAttention(), 3, 3, 2)
    outputs = layer(QUERY, value=VALUES, key=WIDE, **WEIGHTS)
    query, key, value = layer.get_weights()
    expected = twin.attend(twin.scaled_dot, QUERY @ query, WIDE @ key, VALUES @ value)
    check(outputs, expected)


def test_general_attention_without_projections_is_the_score_alone():
    outputs = GeneralAttention(DotAttention())(QUERY, KEYS, **WEIGHTS)
    check(outputs, DotAttention()(QUERY, KEYS, **WEIGHTS))


def test_self_attention_and_causal_mask():
    layer = GeneralAttention(ScaledDotAttention(), 5, 5, 7)
    context, weights = layer(KEYS, use_causal_mask=True, **WEIGHTS)
    assert not np.any(np.triu(weights[0], 1))
    changed = KEYS.copy()
    changed[:, 5:] += 1
    outputs = layer(changed, use_causal_mask=True)
    np.testing.assert_allclose(outputs[:, :5], context[:, :5], rtol=1e-6)


def test_keras_masks_are_taken():
    tokens = np.array([[3, 2, 0, 0, 0], [1, 4, 2, 6, 0]])
    embedded = keras.layers.Embedding(7, 5, mask_zero=True)(tokens)
    for layer in (
        GeneralAttention(DotAttention()),
        GeneralAttention(AdditiveAttention(3), 3, 3, 2),
    ):
        assert not np.any(layer(embedded, **WEIGHTS)[1][0, :, 2:])
        assert not np.any(layer(QUERY, embedded, **WEIGHTS)[1][0, :, 2:])


@pytest.mark.parametrize(
    "layer", [DotAttention(), GeneralAttention(MultiplicativeAttention(), 3, 7, 2)]
)
def test_single_query(layer):
    context, weights = layer(QUERY[:, 0], KEYS, attention_mask=MASK[:, 0], **WEIGHTS)
    many = layer(QUERY, KEYS, attention_mask=MASK, **WEIGHTS)
    check((context, weights), (many[0][:, 0], many[1][:, 0]))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 7), st.integers(0, 5))
def test_more_padding_changes_nothing(length, padding):
    scores = RANDOM.normal(size=(2, 3, length)).astype("float32")
    padded = np.pad(scores, [(0, 0), (0, 0), (0, padding)], constant_values=50)
    mask = padding_mask(np.full((2, 1), length), length + padding)
    weights = attention_weights(padded, mask).numpy()
    np.testing.assert_allclose(weights[..., :length], attention_weights(scores), rtol=1e-6)
    assert not weights[..., length:].any()


def test_fully_masked_row_has_finite_gradients():
    scores = tf.Variable([[1.0, -2.0, 1e30], [3.0, 4.0, 5.0]])
    with tf.GradientTape() as tape:
        weights = attention_weights(scores, [[False] * 3, [True, True, False]])
        loss = tf.reduce_sum(weights**2)
    assert not np.any(weights[0])
    gradient = tape.gradient(loss, scores).numpy()
    assert np.isfinite(gradient).all() and not gradient[0].any() and gradient[1, :2].any()


def test_a_mask_that_would_be_added_is_refused():
    added = np.where(np.tri(3, dtype=bool), 0.0, -np.inf)
    for ask in (combine_masks, lambda mask: attention_weights(np.zeros((3, 3)), mask)):
        with pytest.raises(ValueError, match=r"Expected mask to be bool, True.*Received: dtype="):
            ask(added)
    for name in ("mask", "query_mask", "value_mask", "key_mask", "attention_mask"):
        for layer in (DotAttention(), GeneralAttention(DotAttention())):
            with pytest.raises(ValueError, match=rf"Expected {name} to be bool.*dtype=float32"):
                layer(KEYS, KEYS, **{name: np.zeros((2, 11), "float32")})
    np.testing.assert_array_equal(combine_masks(np.array([0, 1])), [False, True])


def test_mask_algebra():
    assert combine_masks(None, None) is None
    both = combine_masks(np.array([[True, False]]), None, np.array([[True], [False]]))
    assert both.numpy().tolist() == [[True, False], [False, False]]
    assert causal_mask(2, 3).numpy().tolist() == [[True, False, False], [True, True, False]]


def test_two_with_the_same_score_are_saved(tmp_path):
    query, keys, score = keras.Input((3, 5)), keras.Input((11, 5)), AdditiveAttention(7)
    layers = [GeneralAttention(score, query_dim=5) for _ in range(2)]
    model = keras.Model([query, keys], [layer(query, keys) for layer in layers])
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert len(again.weights) == len(model.weights) == 5
    check(again([QUERY, KEYS]), model([QUERY, KEYS]))


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"Expected units >= 1\. Received: units=0"):
        AdditiveAttention(0)
    with pytest.raises(ValueError, match="Received: key_dim=-1"):
        GeneralAttention(DotAttention(), key_dim=-1)
    with pytest.raises(ValueError, match="Expected a ScoredAttention"):
        GeneralAttention("dot")
    with pytest.raises(ValueError, match="for self-attention"):
        GeneralAttention(DotAttention())(QUERY[:, 0])
    for layer in (DotAttention(), GeneralAttention(DotAttention())):
        with pytest.raises(ValueError, match="with use_causal_mask"):
            layer(QUERY[:, 0], KEYS, use_causal_mask=True)


@pytest.mark.parametrize("length", [1, 3, 5, 11])
def test_scores_above_the_greatest_of_float16(length):
    query = np.full((1, length, 7), 120.0, "float16")
    keys = np.stack([np.full(7, 120.0), np.full(7, 119.0)])[None].astype("float16")
    for layer in (
        DotAttention(dtype="float16"),
        MultiplicativeAttention("identity", dtype="float16"),
    ):
        _, weights = layer(query, keys, return_attention_scores=True)
        expected = np.broadcast_to([1.0, 0.0], weights.shape)
        np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=0)


WRONG_CALLS = {
    "a list": (lambda layer: layer([QUERY, KEYS]), r"Expected tensors, as in layer\(query, value="),
    "a key alone": (lambda layer: layer(QUERY, key=KEYS), "Expected a value with the key"),
    "pairs as mask": (
        lambda layer: layer(QUERY, mask=np.ones((2, 3, 3), bool)),
        r"Expected mask of shape \(2, 3\); pass a mask of pairs of positions as attention_mask",
    ),
    "another length": (
        lambda layer: layer(QUERY, KEYS, value_mask=np.ones((2, 3), bool)),
        r"Expected value_mask of shape \(2, 11\)\. Received: shape=\(2, 3\)",
    ),
    "another batch": (
        lambda layer: layer(QUERY, KEYS, query_mask=np.ones((3, 3), bool)),
        r"Expected query_mask of shape \(2, 3\)",
    ),
    "other pairs": (
        lambda layer: layer(QUERY, KEYS, attention_mask=np.ones((2, 11, 3), bool)),
        r"Expected attention_mask broadcastable to \(B, T, S\).*\(2, 3, 11\)\. Received",
    ),
    "a mask in the place of a value": (
        lambda layer: layer(QUERY, MASK[..., 0]),
        r"Expected value of 3 axes\. Received: a mask, to be passed as mask=",
    ),
    "a value without a batch": (
        lambda layer: layer(QUERY, KEYS[0]),
        r"Expected value of 3 axes\. Received: shape=\(11, 5\)",
    ),
    "four axes": (
        lambda layer: layer(QUERY[None]),
        "Expected query of .*3 axes. Received: shape=.*Reshape",
    ),
    "another number of examples": (
        lambda layer: layer(QUERY, KEYS[:1]),
        r"Expected as many queries as values in a batch\. Received: 2 and 1",
    ),
    "keys of another length": (
        lambda layer: layer(QUERY, KEYS, KEYS[:, :7]),
        r"Expected value and key of equal batch and length\. Received: .*11, 5.*7, 5",
    ),
    "added integers": (
        lambda layer: layer(QUERY, mask=np.array([[0, 0, -10000]] * 2)),
        r"Expected mask to be bool.* Received: integers from -10000 to 0",
    ),
    "pairs of another batch": (
        lambda layer: layer(QUERY, KEYS, attention_mask=np.ones((5, 3, 11), bool)),
        r"Expected attention_mask broadcastable .*\(2, 3, 11\)\. Received: shape=\(5, 3, 11\)",
    ),
    "an added mask": (
        lambda layer: layer(QUERY, KEYS, attention_mask=np.where(MASK, 0.0, -1e9)),
        "Expected attention_mask to be bool, True = attend. Received: dtype=float",
    ),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
@pytest.mark.parametrize(
    "make",
    [DotAttention, lambda: GeneralAttention(DotAttention()), lambda: MultiHeadAttention(2, 3)],
)
def test_wrong_calls_are_told_what_to_write(name, make):
    call, message = WRONG_CALLS[name]
    with pytest.raises(ValueError, match=message):
        call(make())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Transformer(13), "Expected a TransformerConfig or its fields. Received: 13"),
        (
            lambda: Transformer(TransformerConfig(13), num_layers=2),
            r"Received: both \(fields: num_layers\)",
        ),
    ],
)
def test_models_take_a_config_or_its_fields(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", [DotAttention, ScaledDotAttention])
def test_dot_products_of_different_widths(kind):
    with pytest.raises(ValueError, match=r"Expected query and keys of one width .* 5 and 7"):
        kind()(np.zeros((2, 3, 5), "float32"), np.zeros((2, 11, 7), "float32"))
