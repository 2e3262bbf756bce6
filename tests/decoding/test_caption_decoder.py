"""Decoding with a caption decoder equals its teacher-forced pass."""

import numpy as np
import pytest
from keras import ops
from keras.layers import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells

from keras_attn.contracts import START_ID
from keras_attn.decoding import Beam, MinimumLength, Sampling
from keras_attn.layers import ContextGRUCell
from keras_attn.models.captioner.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.captioner.soft_attention import SoftAttention
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.transformer.transformer_config import TransformerConfig
from tests.decoding.test_decode import run
from tests.quick import rows

PREFIX = np.array([[5, 7, 4], [11, 0, 0]], "int32")
FEATURES = np.random.default_rng(3).normal(size=(2, 3, 5)).astype("float32")


TRANSFORMER = TransformerConfig(13, None, 2, 6, 11, 2, 3, 5, 0.0, tied="none", normalize_first=True)
SIZES = CaptionDecoderConfig(13, 5, 7, None, 0.0)
DECODERS = {
    "lstm": lambda: CaptionDecoder(SIZES, SoftAttention(11)),
    "gru": lambda: CaptionDecoder(SIZES, SoftAttention(11), ContextGRUCell(7)),
    "a cell of Keras": lambda: CaptionDecoder(SIZES, SoftAttention(11), SimpleRNNCell(7)),
    "stacked cells": lambda: CaptionDecoder(
        SIZES, SoftAttention(11), StackedRNNCells([LSTMCell(3), GRUCell(7)])
    ),
    "transformer": lambda: TransformerCaptionDecoder(TRANSFORMER, 1, 0),
}


@pytest.fixture(params=rows(DECODERS, {"stacked cells", "transformer"}))
def decoder(request):
    made = DECODERS[request.param]()
    made.build((None, 3, 5), (None, None, None))
    random = np.random.default_rng(5)
    for weight in made.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    return made


@pytest.mark.parametrize("prefix", [None, PREFIX])
@pytest.mark.parametrize("strategy", [Beam(3, 0.6, 3), Sampling(1.3, n=2)])
def test_token_scores_and_weights(decoder, strategy, prefix):
    result = run(decoder, strategy, 5, FEATURES, constraints=[MinimumLength(5)], prefix=prefix)
    starts = np.full((*result.tokens.shape[:2], 1), START_ID, "int32")
    inputs = np.concatenate([starts, result.tokens[..., :-1]], axis=-1)
    logits, weights = decoder(FEATURES, inputs)
    scores = ops.take_along_axis(ops.log_softmax(logits), result.tokens[..., None], axis=-1)[..., 0]
    place = np.arange(result.tokens.shape[-1])
    forced = 0 if prefix is None else np.sum(prefix > 0, axis=1)[:, None, None]
    real = (place >= forced) & (place < result.lengths[..., None])
    np.testing.assert_allclose(result.token_scores, np.where(real, scores, 0.0), atol=1e-5)
    np.testing.assert_allclose(result.weights, np.where(real[..., None], weights, 0.0), atol=1e-5)


def test_prefill_is_stepping(decoder):
    prefix = np.pad(PREFIX, ((0, 0), (1, 0)), constant_values=START_ID)
    both, state = decoder.start(FEATURES, 5)
    result = decoder.prefill(ops.array(prefix), both, state)
    for row, tokens in enumerate(prefix):
        memory, state = decoder.start(FEATURES[row : row + 1], 5)
        for token in tokens[tokens > 0]:
            step = decoder.step(ops.array([token]), memory, state)
            state = step.state
        np.testing.assert_allclose(result.logits[row], step.logits[0], atol=1e-5)
        np.testing.assert_allclose(result.weights[row], step.weights[0], atol=1e-6)
        result_after, step_after = (
            decoder.step(ops.array([7] * rows), *carried)
            for rows, carried in ((2, (both, result.state)), (1, (memory, state)))
        )
        np.testing.assert_allclose(result_after.logits[row], step_after.logits[0], atol=1e-5)
