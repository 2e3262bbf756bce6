"""Embeddings of n-grams against a slow twin in Python's own integers."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.layers import NGramEmbedding
from keras_attn.ops.hashed_ngrams import MULTIPLIER, hashed_ngrams

TOKENS = np.array([[5, 7, 5, 7, 3, 0], [2**31 - 1, 60013, 99991, 1, 0, 0]], "int32")


def bucket(ngram, num_buckets):
    """The bucket of a tuple of tokens."""
    total = sum(token * MULTIPLIER**back for back, token in enumerate(reversed(ngram)))
    signed = (total + 2**31) % 2**32 - 2**31
    return signed % num_buckets


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("num_buckets", [1, 17, 131_072, 2**24])
def test_buckets_are_those_of_unbounded_integers(n, num_buckets):
    expected = [
        [bucket(([0] * n + row)[place + 1 : place + n + 1], num_buckets) for place in range(6)]
        for row in TOKENS.tolist()
    ]
    np.testing.assert_array_equal(hashed_ngrams(TOKENS, n, num_buckets), expected)


def test_pairs_of_a_vocabulary_share_buckets_about_as_often_as_chance():
    random = np.random.default_rng(3)
    pairs = np.unique(random.integers(4, 8000, (30_000, 2)), axis=0).astype("int32")
    buckets = np.array(hashed_ngrams(pairs, 2, 131_072))[:, 1]
    chance = 131_072 * (1 - (1 - 1 / 131_072) ** len(pairs))
    assert abs(len(np.unique(buckets)) / chance - 1) < 0.05


def test_the_layer_looks_buckets_up_and_masks():
    layer = NGramEmbedding(17, 5, 2, "random_normal", mask_zero=True)
    outputs = layer(TOKENS)
    rows = np.array(layer.table)[np.array(hashed_ngrams(TOKENS, 2, 17))]
    np.testing.assert_array_equal(outputs, rows)
    np.testing.assert_array_equal(layer.compute_mask(TOKENS), TOKENS != 0)
    np.testing.assert_allclose(outputs[0, 1], outputs[0, 3])
    assert not np.allclose(outputs[0, 0], outputs[0, 2])
    assert not np.any(NGramEmbedding(17, 5)(TOKENS))


def test_any_length_in_a_functional_model():
    tokens = keras.Input((None,), dtype="int32")
    model = keras.Model(tokens, NGramEmbedding(17, 5, 3, "he_normal")(tokens))
    assert model.output_shape == (None, None, 5)
    np.testing.assert_allclose(model(TOKENS)[:, :4], model(TOKENS[:, :4]))
    assert tuple(model(ops.zeros((2, 0), "int32")).shape) == (2, 0, 5)


def test_bad_sizes():
    for sizes, name in (((0, 5), "num_buckets"), ((3, 0), "output_dim"), ((3, 5, 0), "n")):
        with pytest.raises(ValueError, match=f"Expected {name} >= 1"):
            NGramEmbedding(*sizes)
