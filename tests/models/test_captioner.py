"""The captioner: stepper equals teacher forcing, the penalty, files, every step under XLA."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import FEATURES, IMAGE, LOGITS, TOKENS, WEIGHTS
from keras_attn.decoding import Beam, Greedy, decode
from keras_attn.models.captioner.caption_decoder import CaptionDecoderConfig
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam
from tests.quick import rows
from tests.training import tiny

MODELS = {
    "recurrent": tiny.captioner,
    "transformer": tiny.transformer_captioner,
    "no_encoder": lambda: tiny.transformer_captioner(num_encoder_layers=0),
}


@pytest.fixture(params=rows(MODELS, {"transformer"}))
def model(request):
    return MODELS[request.param]()


def test_steps_equal_teacher_forcing(model):
    inputs, _, _ = tiny.batch()
    tokens = inputs[TOKENS]
    output = model(inputs)
    logits, weights = output[LOGITS], output[WEIGHTS]
    for caption in range(tokens.shape[1]):
        memory, state = model.start(inputs[IMAGE], tokens.shape[2])
        for time in range(tokens.shape[2]):
            result = model.step(tf.constant(tokens[:, caption, time]), memory, state)
            state = result.state
            np.testing.assert_allclose(result.logits, logits[:, caption, time], atol=1e-5)
            np.testing.assert_allclose(result.weights, weights[:, caption, time], atol=1e-6)


def test_future_tokens_and_neighbors_change_nothing(model):
    inputs, _, _ = tiny.batch()
    before = model(inputs)[LOGITS].numpy()
    changed = {key: value.copy() for key, value in inputs.items()}
    changed[TOKENS][:, :, 3:] = 9
    changed[TOKENS][0] = 8
    np.testing.assert_allclose(model(changed)[LOGITS][1:, :, :3], before[1:, :, :3], atol=1e-6)


def test_features_instead_of_images(model):
    inputs, _, _ = tiny.batch()
    features = model.encode(inputs[IMAGE])
    outputs = model({FEATURES: features, TOKENS: inputs[TOKENS]})
    np.testing.assert_allclose(outputs[LOGITS], model(inputs)[LOGITS], atol=1e-6)
    with pytest.raises(ValueError, match=r"Expected 'image' or 'features'.*Received: \['tokens'\]"):
        model({TOKENS: inputs[TOKENS]})


@pytest.mark.systems
def test_penalty_ignores_padding(model):
    data = tiny.batch()
    inputs = data[0]
    weights, tokens = model(inputs)[WEIGHTS].numpy(), inputs[TOKENS]
    penalties = []
    for picture, caption in np.ndindex(tokens.shape[:2]):
        steps = np.flatnonzero(tokens[picture, caption])
        if len(steps):
            looked_at = weights[picture, caption, steps].sum(0)
            penalties.append(np.mean((1 - looked_at) ** 2))
    model.compile(loss=TokenCrossEntropy())
    with_penalty = model.evaluate(data[0], data[1], 4, 0, data[2])
    model.attention_penalty = 0.0
    model.compile(loss=TokenCrossEntropy())
    without = model.evaluate(data[0], data[1], 4, 0, data[2])
    np.testing.assert_allclose(with_penalty - without, 0.7 * np.mean(penalties), rtol=1e-4)


def test_saved_file(model, tmp_path):
    inputs, _, _ = tiny.batch()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.attention_penalty == 0.7 and again.grid == model.grid == (3, 4)
    np.testing.assert_allclose(again(inputs)[LOGITS], model(inputs)[LOGITS], atol=1e-6)


@pytest.mark.slow
def test_training_and_evaluation_steps_under_xla_equal_plain(model):
    data = tiny.batch()
    weights = model.get_weights()
    losses = []
    for jit in (False, True):
        model.set_weights(weights)
        model.compile(ClippedAdam(0.01), TokenCrossEntropy(), jit_compile=jit)
        losses.append([float(model.train_on_batch(*data)) for _ in range(2)])
        losses[-1].append(float(model.test_on_batch(*data)))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[0][1] < losses[0][0]


@pytest.mark.systems
@pytest.mark.parametrize("strategy", [Greedy(), Beam(3, 0.6, n_best=2)])
def test_decoding_under_xla_equals_plain(model, strategy):
    images = tiny.batch()[0][IMAGE]

    def search(pictures):
        return tuple(decode(model, pictures, strategy, 7))

    plain = tf.function(search)(images)
    for part, expected in zip(tf.function(search, jit_compile=True)(images), plain):
        np.testing.assert_allclose(part, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("key", "shape", "message"),
    [
        (TOKENS, (3,), r"tokens of shape \(B, T\) or \(B, C, T\). Received: shape=\(3,\)"),
        (TOKENS, (2, 3, 5, 7), r"tokens of shape .* Received: shape=\(2, 3, 5, 7\)"),
        (FEATURES, (2, 3, 5, 7), r"features of shape \(B, S, \d+\). Received: shape=\(2, 3, 5, 7"),
        (FEATURES, (2, 3, 101), r"features of shape \(B, S, \d+\). Received: shape=\(2, 3, 101\)"),
        (IMAGE, (2, 3, 5, 3), r"image of shape \(B, \d+, \d+, 3\). Received: shape=\(2, 3, 5, 3\)"),
    ],
)
def test_wrong_shapes(model, key, shape, message):
    with pytest.raises(ValueError, match=f"Expected {message}"):
        model({**tiny.batch()[0], key: np.ones(shape, "int32" if key == TOKENS else "float32")})


def test_bad_arguments(model):
    with pytest.raises(ValueError, match="Expected a CaptionDecoder or a"):
        Captioner(model.encoder, None, (5, 7))
    with pytest.raises(ValueError, match="attention_penalty=-1"):
        Captioner(model.encoder, model.decoder, (5, 7), -1)
    with pytest.raises(ValueError, match="dropout=1"):
        CaptionDecoderConfig(17, dropout=1)
    with pytest.raises(ValueError, match="vocabulary_size=0"):
        CaptionDecoderConfig(0)
    with pytest.raises(ValueError, match="logits_gain=0"):
        CaptionDecoderConfig(17, logits_gain=0)
    with pytest.raises(ValueError, match="num_encoder_layers=-1"):
        tiny.transformer_captioner(num_encoder_layers=-1)
