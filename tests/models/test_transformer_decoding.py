"""The Transformer under every strategy: what decoding reports is what the whole model computes."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, START_ID, TOKENS, WEIGHTS
from keras_attn.decoding import Beam, Greedy, Sampling, decode
from tests.models.tiny_transformer import VOCABULARY, transformer
from tests.quick import rows

LENGTH = 5
SOURCES = np.array([[5, 7, 3, 11, 4, 9, 6], [8, 12, 5, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0]], "int32")
PREFIX = np.array([[6, 9], [11, 0], [0, 0]], "int32")


@pytest.fixture(scope="module")
def model():
    return transformer(seed=3)


def rescored(model, answers):
    """Log-probabilities and weights of the answers, all at once and without a cache."""
    scores, weights = [], []
    for n in range(answers.shape[1]):
        tokens = answers[:, n]
        begun = np.concatenate([np.full((len(tokens), 1), START_ID), tokens[:, :-1]], axis=1)
        outputs = model({SOURCE: SOURCES, TOKENS: begun.astype("int32")})
        logits = np.array(outputs[LOGITS], "float64")
        every = logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))
        scores.append(np.take_along_axis(every, tokens[..., None], axis=-1)[..., 0])
        weights.append(np.array(outputs[WEIGHTS]))
    return np.stack(scores, axis=1), np.stack(weights, axis=1)


def check_recomputed(model, result, prefix=None):
    """That a `DecodeResult` of SOURCES has the scores and weights of a model's call."""
    tokens, lengths, _, token_scores, weights = map(np.array, result)
    again, attended = rescored(model, tokens)
    forced = np.zeros((3, 1), int) if prefix is None else np.sum(prefix > 0, axis=1)[:, None]
    place = np.arange(tokens.shape[2])
    chosen = (place >= forced[..., None]) & (place < lengths[..., None])
    np.testing.assert_allclose(token_scores, np.where(chosen, again, 0), atol=2e-5)
    np.testing.assert_allclose(weights, np.where(chosen[..., None], attended, 0), atol=2e-5)
    assert (tokens != PAD_ID).sum(axis=-1).tolist() == lengths.tolist()
    assert tokens.max() < VOCABULARY


@pytest.mark.parametrize("prefix", [None, PREFIX], ids=["free", "prefix"])
@pytest.mark.parametrize(
    "strategy",
    rows([Greedy(), Beam(3, 0.7, 3), Sampling(seed=5, n=3)], [Beam(3, 0.7, 3)]),
    ids=["greedy", "beam", "draws"],
)
def test_reported_is_recomputed(model, strategy, prefix):
    call = tf.function(lambda source: decode(model, source, strategy, LENGTH, prefix=prefix))
    result = call(tf.constant(SOURCES))
    check_recomputed(model, result, prefix)
    if not isinstance(strategy, Beam):
        np.testing.assert_allclose(result.scores, np.sum(result.token_scores, axis=-1), atol=1e-4)


def test_width_one_is_greedy(model):
    greedy, beam = (decode(model, SOURCES, strategy, LENGTH) for strategy in (Greedy(), Beam(1)))
    np.testing.assert_array_equal(greedy.tokens, beam.tokens)
    np.testing.assert_allclose(greedy.scores, beam.scores, atol=1e-5)


def test_neighbors_and_padding_change_nothing(model):
    together = decode(model, SOURCES, Beam(3, 0.7), LENGTH)
    for row, source in enumerate(SOURCES):
        alone = decode(model, source[None, : np.sum(source > 0)], Beam(3, 0.7), LENGTH)
        np.testing.assert_array_equal(alone.tokens[0], together.tokens[row])
        np.testing.assert_allclose(alone.scores[0], together.scores[row], atol=1e-5)
