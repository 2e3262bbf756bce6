"""The classifier of texts: padding, pooling, saving and precision with every encoder."""

import json

import keras
import numpy as np
import pytest

from keras_attn.layers import AdditiveAttention, AttentionPooling, DotAttention, MaskedConvolution
from keras_attn.models import (
    RecurrentEncoder,
    TextClassifier,
    TransformerConfig,
    TransformerEncoder,
)
from tests.quick import rows

TRANSFORMER = TransformerConfig(13, None, 2, 6, 11, 2, 3, 3, normalize_first=True)
ENCODERS = {
    "embeddings": lambda: None,
    "recurrent": lambda: RecurrentEncoder(vocabulary_size=13, hidden_dim=7, num_encoder_layers=2),
    "convolutional": lambda: MaskedConvolution(7, 3),
    "transformer": lambda: TransformerEncoder(TRANSFORMER),
}
POOLINGS = {"attention": lambda: AttentionPooling(AdditiveAttention(5)), "mean": lambda: None}
TOKENS = np.array([[5, 7, 3, 11, 3], [8, 12, 3, 0, 0], [0, 0, 0, 0, 0]], "int32")

each_encoder = pytest.mark.parametrize("encoder", rows(ENCODERS, {"recurrent"}))
each_pooling = pytest.mark.parametrize("pooling", POOLINGS)


def model_of(encoder, pooling="attention", bigram_buckets=0):
    keras.utils.set_random_seed(3)
    parts = ENCODERS[encoder](), POOLINGS[pooling]()
    model = TextClassifier(13, 3, *parts, embedding_dim=6, bigram_buckets=bigram_buckets)
    model.build()
    random = np.random.default_rng(3)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    return model


@each_encoder
@each_pooling
def test_contributions_add_up_to_the_label_above_the_mean(encoder, pooling):
    model = model_of(encoder, pooling)
    logits, weights, gains = (np.array(part) for part in model.contributions(TOKENS))
    bias, best = np.array(model.logits.bias), logits.argmax(axis=1)
    above = logits.max(axis=1) - logits.mean(axis=1) - bias[best] + bias.mean()
    np.testing.assert_allclose(gains.sum(axis=1), above, atol=1e-5)
    assert not gains[TOKENS == 0].any()
    np.testing.assert_array_equal(weights, np.array(model.pooled_weights(TOKENS)[1]))


@each_encoder
@each_pooling
@pytest.mark.parametrize("bigram_buckets", [0, 17])
def test_padding_changes_nothing_and_alone_it_is_finite(encoder, pooling, bigram_buckets):
    model = model_of(encoder, pooling, bigram_buckets)
    logits, weights = (np.array(part) for part in model.pooled_weights(TOKENS))
    padded = np.pad(TOKENS, [(0, 0), (0, 4)])
    longer, more = (np.array(part) for part in model.pooled_weights(padded))
    np.testing.assert_allclose(longer, logits, atol=1e-5)
    np.testing.assert_allclose(more, np.pad(weights, [(0, 0), (0, 4)]), atol=1e-5)
    np.testing.assert_allclose(model(TOKENS[1:2, :3]), logits[1:2], atol=1e-5)
    np.testing.assert_allclose(model(TOKENS), logits, atol=1e-6)
    np.testing.assert_allclose(weights.sum(-1), [1, 1, 0], atol=1e-6)
    np.testing.assert_allclose(logits[2], model.logits.bias, atol=1e-6)
    assert not weights[TOKENS == 0].any()


@each_encoder
def test_mean_pooling_has_uniform_weights_and_is_that_of_a_query_of_zeros(encoder):
    model = model_of(encoder, "mean")
    logits, weights = model.pooled_weights(TOKENS)
    expected = (TOKENS != 0) / np.maximum((TOKENS != 0).sum(-1, keepdims=True), 1)
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    pooling = AttentionPooling(DotAttention(), initializer="zeros")
    other = TextClassifier(13, 3, ENCODERS[encoder](), pooling, embedding_dim=6)
    other.build()
    for part in ("embedding", "encoder", "logits"):
        if getattr(model, part) is not None:
            getattr(other, part).set_weights(getattr(model, part).get_weights())
    np.testing.assert_allclose(other(TOKENS), logits, atol=1e-5)


@each_encoder
@each_pooling
def test_saved_it_is_the_same(encoder, pooling, tmp_path):
    model = model_of(encoder, pooling, bigram_buckets=17)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert json.dumps(again.get_config()) == json.dumps(model.get_config())
    np.testing.assert_array_equal(again(TOKENS), model(TOKENS))


@each_encoder
@each_pooling
def test_mixed_precision(encoder, pooling):
    model = model_of(encoder, pooling)
    keras.config.set_dtype_policy("mixed_bfloat16")
    low = model_of(encoder, pooling)
    logits, weights = low.pooled_weights(TOKENS)
    assert logits.dtype == weights.dtype == "float32"
    expected, shares = (np.array(part) for part in model.pooled_weights(TOKENS))
    assert np.abs(logits - expected).max() < 0.06 * max(1, np.abs(expected).max())
    assert np.abs(weights - shares).max() < 0.06


@pytest.mark.systems
def test_it_learns_which_word_matters():
    random = np.random.default_rng(5)
    tokens = random.integers(4, 11, (128, 9)).astype("int32")
    labels = random.integers(0, 2, 128)
    places = random.integers(0, 9, 128)
    tokens[np.arange(128), places] = 11 + labels
    model = TextClassifier(13, 2, None, AttentionPooling(AdditiveAttention(8)), 8, dropout=0.0)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.03), loss, metrics=["accuracy"])
    model.fit(tokens, labels, batch_size=128, epochs=60, verbose=0)
    assert model.evaluate(tokens, labels, verbose=0, return_dict=True)["accuracy"] > 0.98
    _, weights = model.pooled_weights(tokens)
    assert np.mean(np.argmax(weights, axis=-1) == places) > 0.9


def test_bigrams_tell_the_order_of_words():
    tokens = np.array([[5, 7, 11], [7, 5, 11]], "int32")
    plain, paired = model_of("embeddings"), model_of("embeddings", bigram_buckets=1009)
    np.testing.assert_allclose(*plain(tokens), atol=1e-6)
    assert not np.allclose(*paired(tokens), atol=1e-2)


def test_bad_arguments():
    with pytest.raises(ValueError, match="Expected bigram_buckets >= 1"):
        TextClassifier(13, 3, bigram_buckets=-1)
    for sizes, name in (((0, 3), "vocabulary_size"), ((13, 0), "num_classes")):
        with pytest.raises(ValueError, match=f"Expected {name} >= 1"):
            TextClassifier(*sizes)
    with pytest.raises(ValueError, match="Expected embedding_dim >= 1"):
        TextClassifier(13, 3, embedding_dim=0)
    with pytest.raises(ValueError, match="dropout"):
        TextClassifier(13, 3, dropout=1.5)
    with pytest.raises(ValueError, match="Expected an AttentionPooling, or None"):
        TextClassifier(13, 3, pooling=AdditiveAttention(5))
