"""The parser's encoder of words, its tags, and its two losses."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.contracts import LOGITS, SOURCE, TAG_LOGITS, TOKENS, WEIGHTS
from keras_attn.models.parser.parser import Parser
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.token_accuracy import TokenAccuracy
from tests.reference import parameter_counts

SIZES = {"num_layers": 2, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 2, "key_dim": 3}
TAGS = 5


def parser(**changes):
    """A built model: 13 pieces, 11 symbols of which 4 is a word's, 5 tags."""
    choices = {
        **SIZES,
        "value_dim": 3,
        "normalize_first": True,
        "tied": "decoder",
    }
    keras.utils.set_random_seed(3)
    counted = changes.pop("counted_token", 4)
    config = TransformerConfig(13, 11, **{**choices, "dropout": 0.0, **changes})
    model = Parser(config, TAGS, counted)
    model.build()
    return model


def batch(seed=1):
    """Sentences of 7 and 3 words of up to 3 pieces; symbols of 17 and 5 tokens."""
    random = np.random.default_rng(seed)
    source = random.integers(4, 13, (2, 7, 3)).astype("int32")
    source[:, ::2, 1:] = 0
    source[1, 3:] = 0
    tokens = random.integers(4, 11, (2, 17)).astype("int32")
    tokens[1, 5:] = 0
    return {SOURCE: source, TOKENS: tokens}


def numpy(outputs):
    return {key: ops.convert_to_numpy(value) for key, value in outputs.items()}


def test_shapes_and_more_padding():
    model, inputs = parser(), batch()
    outputs = numpy(model(inputs))
    assert outputs[LOGITS].shape == (2, 17, 11) and outputs[WEIGHTS].shape == (2, 17, 7)
    assert outputs[TAG_LOGITS].shape == (2, 7, TAGS)
    wide = {
        SOURCE: np.pad(inputs[SOURCE], ((0, 0), (0, 5), (0, 2))),
        TOKENS: np.pad(inputs[TOKENS], ((0, 0), (0, 3))),
    }
    padded = numpy(model(wide))
    np.testing.assert_allclose(padded[LOGITS][:, :17], outputs[LOGITS], atol=1e-5)
    np.testing.assert_allclose(padded[TAG_LOGITS][0, :7], outputs[TAG_LOGITS][0], atol=1e-5)
    assert not padded[WEIGHTS][..., 7:].any() and not outputs[WEIGHTS][1, :, 3:].any()


def test_a_word_is_the_sum_of_its_pieces_over_the_root_of_their_number():
    model, inputs = parser(num_layers=1), batch()
    table = ops.convert_to_numpy(model.source_embedding.table) * np.sqrt(6)
    words = np.zeros((2, 7, 6), "float32")
    for row, place in np.ndindex(2, 7):
        pieces = [input for input in inputs[SOURCE][row, place] if input]
        words[row, place] = sum(table[piece] for piece in pieces) / np.sqrt(max(len(pieces), 1))
    mask = inputs[SOURCE].any(-1)
    expected = model.encoder(words, mask=mask)
    actual, found_mask = model.encode(inputs[SOURCE])
    np.testing.assert_array_equal(ops.convert_to_numpy(found_mask), mask)
    np.testing.assert_allclose(*map(ops.convert_to_numpy, (actual, expected)), atol=1e-5)


def test_steps_equal_the_whole_sequence():
    model, inputs = parser(), batch()
    whole = numpy(model(inputs))
    memory, state = model.start(inputs, 17)
    for time in range(17):
        result = model.step(ops.convert_to_tensor(inputs[TOKENS][:, time]), memory, state)
        state = result.state
        rows = inputs[TOKENS][:, time] > 0
        logits = ops.convert_to_numpy(result.logits)
        np.testing.assert_allclose(logits[rows], whole[LOGITS][rows, time], atol=1e-5)


def test_the_loss_is_the_sum_of_both():
    model, inputs = parser(), batch()
    model.compile(
        loss={key: TokenCrossEntropy() for key in (LOGITS, TAG_LOGITS)},
        weighted_metrics={key: [TokenAccuracy()] for key in (LOGITS, TAG_LOGITS)},
    )
    outputs = numpy(model(inputs))
    random = np.random.default_rng(5)
    targets = {
        LOGITS: random.integers(4, 11, (2, 17)).astype("int32"),
        TAG_LOGITS: random.integers(1, TAGS, (2, 7)).astype("int32"),
    }
    weights = {LOGITS: inputs[TOKENS] > 0, TAG_LOGITS: inputs[SOURCE].any(-1)}
    weights = {key: array.astype("float32") for key, array in weights.items()}
    expected = 0.0
    for key, wanted in targets.items():
        logits = outputs[key] - np.log(np.exp(outputs[key]).sum(-1, keepdims=True))
        own = -np.take_along_axis(logits, wanted[..., None], -1)[..., 0]
        expected += (own * weights[key]).sum() / weights[key].sum()
    rows = tf.data.Dataset.from_tensors((inputs, targets, weights))
    scores = model.evaluate(rows, verbose=0, return_dict=True)
    assert scores["loss"] == pytest.approx(expected, rel=1e-5)
    right = (outputs[TAG_LOGITS].argmax(-1) == targets[TAG_LOGITS])[weights[TAG_LOGITS] > 0]
    assert scores["tag_logits_token_accuracy"] == pytest.approx(right.mean(), rel=1e-5)


def test_saved_and_loaded(tmp_path):
    model, inputs = parser(), batch()
    model.save(tmp_path / "parser.keras")
    again = keras.saving.load_model(tmp_path / "parser.keras")
    assert again.get_config() == model.get_config()
    actual, expected = numpy(again(inputs)), numpy(model(inputs))
    for key, value in expected.items():
        np.testing.assert_array_equal(actual[key], value)
    assert len(again.weights) == len(model.weights)
    counted = parameter_counts.transformer(model.config) + 6 * TAGS + TAGS + 6 * 6
    assert model.count_params() == counted


def test_bad_choices():
    with pytest.raises(ValueError, match="tags >= 1"):
        Parser(TransformerConfig(13, 11, tied="decoder"), 0)
    with pytest.raises(ValueError, match=r"0 < counted_token < 11\. Received: counted_token=11"):
        Parser(TransformerConfig(13, 11, tied="decoder"), TAGS, counted_token=11)
