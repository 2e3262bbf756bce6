"""The recurrent encoder–decoder: masked recurrence, steps, search, padding, precision."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops, tree

from keras_attn.contracts import LOCATIONS, LOGITS, PAD_ID, SOURCE, START_ID, TOKENS, WEIGHTS
from keras_attn.decoding import Beam, Greedy, Sampling, decode
from keras_attn.layers import (
    AdditiveAttention,
    DotAttention,
    LastStateAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    LocationSampler,
    MultiplicativeAttention,
    SampledAttention,
)
from keras_attn.layers.location_sampler import EXPECTED
from keras_attn.models import RecurrentConfig, RecurrentEncoder, RecurrentSeq2Seq
from keras_attn.training.losses import TokenCrossEntropy
from tests.quick import rows

VOCABULARY = 13
SIZES = {"embedding_dim": 5, "hidden_dim": 7, "dropout": 0.0}
CHOICES = {
    "additive": (AdditiveAttention(3), {}),
    "bahdanau": (None, {"attend_first": True, "cell": "gru"}),
    "deep": (MultiplicativeAttention(), {"num_encoder_layers": 2, "num_decoder_layers": 3}),
    "tied": (LocationAttention(17), {"tied": "all", "input_feeding": False}),
    "one way": (DotAttention(), {"bidirectional": False, "tied": "decoder"}),
    "none": (LastStateAttention(), {"cell": "gru", "num_decoder_layers": 2}),
    "local-m": (LocalMonotonicAttention(MultiplicativeAttention(), 1), {}),
    "hard": (SampledAttention(AdditiveAttention(3)), {}),
    "local-p": (LocalPredictiveAttention(MultiplicativeAttention(), 2, 3), {}),
}
SOURCES = np.array([[5, 7, 3, 11, 4, 9, 6], [8, 12, 5, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0]], "int32")
TARGETS = np.array([[2, 7, 5, 9, 3], [2, 11, 4, 0, 0], [2, 8, 6, 12, 0]], "int32")


def model_of(choice, seed=3):
    attention, choices = CHOICES[choice]
    keras.utils.set_random_seed(seed)
    if attention is not None:
        attention = type(attention).from_config(attention.get_config())
    model = RecurrentSeq2Seq(RecurrentConfig(VOCABULARY, **{**SIZES, **choices}), attention)
    model.build()
    random = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    return model


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_encoder_equals_keras_layers_under_a_mask(cell):
    encoder = RecurrentEncoder(RecurrentConfig(VOCABULARY, hidden_dim=7, cell=cell, dropout=0.0))
    inputs = np.random.default_rng(5).normal(size=(2, 11, 5)).astype("float32")
    mask = np.arange(11) < np.array([[11], [4]])
    encoder.build(inputs.shape)
    outputs, last = encoder(inputs, mask=mask)
    layer = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[cell]
    for place, (own, back) in enumerate(zip(encoder.cells[0], (False, True))):
        options = {"return_sequences": True, "return_state": True, "go_backwards": back}
        peer = layer(7, **options)
        peer.build(inputs.shape)
        kernel, bias = own.input_gates.get_weights()
        recurrent, *state_bias = own.hidden_gates.get_weights()
        if cell == "lstm":
            bias = bias + np.repeat([0, 1, 0, 0], 7)  # Our forget bias is no weight.
        else:
            bias = np.stack([bias, *state_bias])
        peer.set_weights([kernel, recurrent, bias])
        expected, *state = peer(inputs, mask=ops.convert_to_tensor(mask))
        expected = np.flip(expected, 1) if back else np.array(expected)
        part = slice(7 * place, 7 * place + 7)
        np.testing.assert_allclose(outputs[..., part], expected * mask[..., None], atol=1e-5)
        np.testing.assert_allclose(last[..., part], state[0], atol=1e-5)


@pytest.mark.parametrize("choice", rows(CHOICES, {"bahdanau", "deep", "local-p"}))
def test_steps_equal_the_whole_and_padding_changes_nothing(choice):
    model = model_of(choice)
    outputs = model({SOURCE: SOURCES, TOKENS: TARGETS})
    padded = {SOURCE: np.pad(SOURCES, [(0, 0), (0, 2)]), TOKENS: np.pad(TARGETS, [(0, 0), (0, 3)])}
    wider = model(padded)
    np.testing.assert_allclose(wider[LOGITS][:, :5], outputs[LOGITS], atol=1e-5)
    np.testing.assert_allclose(wider[WEIGHTS][:, :5, :7], outputs[WEIGHTS], atol=1e-5)
    assert not np.any(np.array(wider[WEIGHTS])[:, :, 7:])
    changed = TARGETS.copy()
    changed[:, 3] = 10
    later = model({SOURCE: SOURCES, TOKENS: changed})[LOGITS]
    np.testing.assert_allclose(later[:, :3], outputs[LOGITS][:, :3], atol=1e-6)
    memory, state = model.start(SOURCES, 5)
    for time in range(5):
        result = model.step(TARGETS[:, time], memory, state)
        state = result.state
        np.testing.assert_allclose(result.logits, outputs[LOGITS][:, time], atol=1e-5)
        np.testing.assert_allclose(result.weights, outputs[WEIGHTS][:, time], atol=1e-5)
    memory, state = model.start(SOURCES, 5)
    prefilled = model.prefill(ops.convert_to_tensor(TARGETS), memory, state)
    lengths = np.sum(TARGETS != PAD_ID, axis=1) - 1
    expected = np.array(outputs[LOGITS])[np.arange(3), lengths]
    np.testing.assert_allclose(prefilled.logits, expected, atol=1e-5)


@pytest.mark.parametrize("choice", rows(["additive", "bahdanau", "local-m"], {"additive"}))
@pytest.mark.parametrize(
    "strategy",
    rows([Greedy(), Beam(3, 0.7, 3), Sampling(seed=5, n=3)], [Beam(3, 0.7, 3)]),
    ids=["greedy", "beam", "draws"],
)
def test_reported_scores_are_those_of_the_whole_model(choice, strategy):
    model = model_of(choice)
    call = tf.function(lambda source: decode(model, source, strategy, 5))
    result = call(tf.constant(SOURCES))
    for n in range(result.tokens.shape[1]):
        tokens, lengths = np.array(result.tokens[:, n]), np.array(result.lengths[:, n])
        begun = np.concatenate([np.full((3, 1), START_ID), tokens[:, :-1]], axis=1).astype("int32")
        outputs = model({SOURCE: SOURCES, TOKENS: begun})
        scores = np.array(tf.nn.log_softmax(outputs[LOGITS]))
        scores = np.take_along_axis(scores, tokens[..., None], -1)[..., 0]
        real = np.arange(tokens.shape[1]) < lengths[:, None]
        np.testing.assert_allclose(result.token_scores[:, n], scores * real, atol=2e-5)
        weights = np.array(outputs[WEIGHTS]) * real[..., None]
        np.testing.assert_allclose(result.weights[:, n], weights, atol=2e-5)


def test_width_one_is_greedy():
    model = model_of("deep")
    greedy, beam = (model.generate(SOURCES, strategy, 5) for strategy in (Greedy(), Beam(1)))
    np.testing.assert_array_equal(greedy.tokens, beam.tokens)
    np.testing.assert_allclose(greedy.scores, beam.scores, atol=1e-5)


@pytest.mark.parametrize("choice", rows(CHOICES, {"bahdanau", "deep", "local-p"}))
def test_round_trip_and_mixed_precision(choice, tmp_path):
    model, batch = model_of(choice), {SOURCE: SOURCES, TOKENS: TARGETS}
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(batch)[LOGITS], model(batch)[LOGITS], atol=1e-6)
    assert again.config == model.config
    config = {**model.get_config(), "dtype": "mixed_bfloat16"}
    config.pop("attention")
    half = RecurrentSeq2Seq(
        RecurrentConfig(**config.pop("config")), AdditiveAttention(3), dtype="mixed_bfloat16"
    )
    outputs = half(batch)
    assert {array.dtype for array in outputs.values()} == {tf.float32}
    step = half.step(TARGETS[:, 0], *half.start(SOURCES, 5))
    assert step.logits.dtype == step.weights.dtype == tf.float32


def test_empty_sources_and_single_tokens_are_finite():
    for choice in CHOICES:
        model = model_of(choice)
        outputs = model({SOURCE: SOURCES * 0, TOKENS: TARGETS[:, :1]})
        assert all(np.isfinite(array).all() for array in outputs.values()), choice
        assert not np.any(outputs[WEIGHTS])


@pytest.mark.systems
def test_gradients_reach_every_weight():
    for choice in set(CHOICES) - {"hard"}:  # Its attention learns in training alone.
        model = model_of(choice)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model({SOURCE: SOURCES, TOKENS: TARGETS})[LOGITS] ** 2)
        gradients = tape.gradient(loss, model.trainable_weights)
        paths = [
            weight.path
            for weight, gradient in zip(model.trainable_weights, gradients)
            if gradient is None or not np.any(tf.convert_to_tensor(gradient))
        ]
        assert not paths, choice
        assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in tree.flatten(gradients))


@pytest.mark.parametrize(("samples", "positions"), [(1, 3), (2, 2)])
def test_the_expected_gradient_of_hard_attention_is_that_of_the_exact_expectation(
    samples, positions
):
    """Σ_s p(s) · (gradient of samples s) is the gradient of −Σ_s p(s) log p(y | s)."""
    keras.utils.set_random_seed(3)
    sampler = LocationSampler(reward_weight=1.0, entropy_weight=0.0, samples=samples)
    attention = SampledAttention(AdditiveAttention(3), sampler)
    model = RecurrentSeq2Seq(RecurrentConfig(VOCABULARY, **SIZES), attention)
    model.build()
    model.compile("sgd", TokenCrossEntropy())
    random = np.random.default_rng(3)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    source = np.array([[*[5, 7, 11][:positions], 0]], "int32")
    targets = tf.constant([[7, 3]])
    batch = {SOURCE: source, TOKENS: np.array([[2, 7]], "int32")}
    variables = [weight.value for weight in model.trainable_weights]
    totals = [0.0, 0.0]
    paths = itertools.product(range(positions), repeat=2)
    for places in map(np.array, itertools.product(paths, repeat=samples)):
        noise = tf.constant(1e6 * np.eye(positions + 1, dtype="float32")[places.T])
        draws = noise, tf.fill((2, samples), False)
        attention.draws = lambda *_, draws=draws: draws
        sampler.baseline.assign(-1.7)
        with tf.GradientTape(persistent=True) as tape:
            outputs = model(batch, training=True)
            loss = model.compute_loss(batch, targets, outputs)
            chances = tf.gather(outputs[WEIGHTS], places[..., None], batch_dims=2)
            chance = tf.reduce_prod(chances)
            aims = tf.repeat(targets, samples, axis=0)
            logs = tf.gather(tf.nn.log_softmax(outputs[LOGITS]), aims, batch_dims=2)
            exact = -chance * tf.reduce_sum(logs) / 2 / samples
        np.testing.assert_array_equal(outputs[LOCATIONS], places)
        for place, (value, share) in enumerate(((loss, float(chance)), (exact, 1.0))):
            gradient = tape.gradient(value, variables, unconnected_gradients="zero")
            flat = [np.array(tf.convert_to_tensor(array)).ravel() for array in gradient]
            totals[place] = totals[place] + share * np.concatenate(flat)
    assert np.abs(totals[1]).max() > 0.01
    np.testing.assert_allclose(*totals, atol=1e-5)


def test_half_of_the_examples_of_hard_attention_use_the_expectation():
    model = model_of("hard")
    batch = {SOURCE: np.repeat(SOURCES[1:2], 501, 0), TOKENS: np.repeat(TARGETS[1:2], 501, 0)}
    outputs = model(batch, training=True)
    locations, weights = np.array(outputs[LOCATIONS]), np.array(outputs[WEIGHTS])
    expected = np.all(locations == EXPECTED, axis=1)
    assert np.array_equal(expected, np.any(locations == EXPECTED, axis=1))
    assert 0.4 < expected.mean() < 0.6
    drawn = np.bincount(locations[~expected, 0], minlength=7) / np.sum(~expected)
    np.testing.assert_allclose(drawn, weights[~expected, 0].mean(axis=0), atol=0.1)


def test_bad_input_is_named():
    for name, value in (("hidden_dim", 0), ("num_decoder_layers", 0), ("vocabulary_size", "x")):
        with pytest.raises(ValueError, match=f"Expected {name} >= 1"):
            RecurrentConfig(**{"vocabulary_size": 5, name: value})
    with pytest.raises(ValueError, match="cell"):
        RecurrentConfig(5, cell="rnn")
    with pytest.raises(ValueError, match="one vocabulary for tied='all'"):
        RecurrentConfig(5, 7, tied="all")
    with pytest.raises(ValueError, match="Expected a ScoredAttention layer"):
        RecurrentSeq2Seq(RecurrentConfig(5), keras.layers.Attention())
    with pytest.raises(ValueError, match="Expected a global ScoredAttention layer"):
        SampledAttention(SampledAttention(DotAttention()))
    with pytest.raises(ValueError, match="Expected a LocationSampler"):
        SampledAttention(DotAttention(), 0.5)
