"""The convolutional model equals torch's, values and gradients; masks, sizes, errors, precision."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS, WEIGHTS
from keras_attn.layers import GatedConvolution, MultiStepAttention, WeightNormalizedDense
from keras_attn.models import CONV_SEQ2SEQ_PRESETS, ConvSeq2Seq, ConvSeq2SeqConfig
from keras_attn.ops.scale_gradient import scale_gradient
from tests.models.tiny_conv_seq2seq import SIZES, TIED, batch, conv_seq2seq, named, of_torch
from tests.reference import parameter_counts

GOLDEN = Path(__file__).parents[1] / "golden" / "conv_seq2seq.npz"
both = pytest.mark.parametrize("choices", [{}, TIED], ids=["untied", "tied"])


@pytest.mark.parametrize(("name", "choices"), [("untied", {}), ("tied", TIED)])
def test_equals_torch(name, choices):
    with np.load(GOLDEN) as file:
        prefix = f"{name}/"
        arrays = {
            key.removeprefix(prefix): file[key] for key in file.files if key.startswith(prefix)
        }
    model = conv_seq2seq(**choices)
    weights = named(model)
    assert {f"weight/{path}" for path in weights} == {key for key in arrays if "weight/" in key}
    for path, weight in weights.items():
        weight.assign(of_torch(path, arrays[f"weight/{path}"]))
    inputs = {SOURCE: arrays["source"], TOKENS: arrays["tokens"]}
    with tf.GradientTape() as tape:
        outputs = model(inputs)
        loss = tf.reduce_sum(tf.sin(outputs[LOGITS]))
    np.testing.assert_allclose(outputs[LOGITS], arrays["logits"], rtol=1e-4, atol=1e-4)
    cross = np.concatenate(model.attention(inputs).cross, axis=1)
    np.testing.assert_allclose(cross, arrays["weights"], atol=1e-5)
    np.testing.assert_allclose(outputs[WEIGHTS], arrays["weights"].mean(1), atol=1e-5)
    gradients = tape.gradient(loss, list(weights.values()))
    for path, gradient in zip(weights, gradients):
        expected = of_torch(path, arrays[f"gradient/{path}"])
        scale = np.abs(expected).max()
        gradient = tf.convert_to_tensor(gradient)
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4 * scale, err_msg=path)


def test_presets_have_the_parameters_of_the_published_models():
    with np.load(GOLDEN) as file:
        for name, preset in CONV_SEQ2SEQ_PRESETS.items():
            assert parameter_counts.conv_seq2seq(preset.config(40000)) == file[f"count/{name}"], (
                name
            )


@pytest.mark.parametrize(
    "choices", [{}, TIED, {"tied": "decoder", "output_dim": 5}, {"positions": "sinusoidal"}]
)
def test_parameters_are_counted(choices):
    model = conv_seq2seq(**choices)
    assert parameter_counts.conv_seq2seq(model.config) == model.count_params()


def test_the_paper_s_initialization():
    sizes = {"encoder_layers": [(97, 3)], "decoder_layers": [(89, 3)], "embedding_dim": 101}
    model = ConvSeq2Seq(vocabulary_size=103, output_dim=107, dropout=0.3, **sizes)
    model.build()
    deviations = {path: np.std(weight) for path, weight in named(model).items()}
    expected = {
        "source_embedding/embeddings": 0.1,
        "decoder/embedding/embeddings": 0.1,
        "encoder/positions/table": 0.1,
        "encoder/enter/kernel": (0.7 / 101) ** 0.5,
        "encoder/convolution_0/kernel": (4 * 0.7 / (3 * 97)) ** 0.5,
        "encoder/leave/kernel": (1 / 97) ** 0.5,
        "decoder/convolution_0/kernel": (4 * 0.7 / (3 * 89)) ** 0.5,
        "decoder/attention_0/query_projection/kernel": (1 / 89) ** 0.5,
        "decoder/attention_0/output_projection/kernel": (1 / 101) ** 0.5,
        "decoder/leave/kernel": (1 / 89) ** 0.5,
        "decoder/logits/kernel": (0.7 / 107) ** 0.5,
    }
    for path, deviation in expected.items():
        np.testing.assert_allclose(deviations[path], deviation, rtol=0.05, err_msg=path)
    for path, weight in named(model).items():
        if path.endswith("/bias"):
            assert not np.any(weight)
        elif path.endswith("/gain"):
            kernel = np.array(named(model)[path.replace("/gain", "/kernel")])
            norms = np.sqrt(np.sum(kernel**2, axis=tuple(range(kernel.ndim - 1))))
            np.testing.assert_allclose(weight, norms, rtol=1e-5)


def test_gradients_are_scaled_and_values_are_not():
    values = tf.constant([0.1, 1e-8, 3e7])
    with tf.GradientTape() as tape:
        tape.watch(values)
        outputs = scale_gradient(values, 0.3)
        loss = tf.reduce_sum(outputs * [2.0, 3.0, 5.0])
    np.testing.assert_array_equal(outputs, values)
    np.testing.assert_allclose(tape.gradient(loss, values), [0.6, 0.9, 1.5], rtol=1e-6)


def slopes(monkeypatch, scale):
    """Gradients by path, with the scale of the encoder's multiplied by `scale`."""
    monkeypatch.setattr(
        "keras_attn.models.conv_seq2seq.conv_seq2seq_encoder.scale_gradient",
        lambda inputs, factor: scale_gradient(inputs, factor * scale),
    )
    model = conv_seq2seq()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(model(batch())[LOGITS]))
    weights = named(model)
    gradients = tape.gradient(loss, list(weights.values()))
    return {path: tf.convert_to_tensor(value) for path, value in zip(weights, gradients)}


def test_the_encoder_s_gradient_is_divided_by_twice_the_attentions(monkeypatch):
    scaled, whole = slopes(monkeypatch, 1), slopes(monkeypatch, 2 * len(SIZES["decoder_layers"]))
    for path, gradient in scaled.items():
        if path.startswith(("encoder/conv", "encoder/enter", "encoder/leave", "encoder/proj")):
            np.testing.assert_allclose(6 * gradient, whole[path], rtol=1e-4, atol=1e-5)
        elif path.startswith("decoder"):
            np.testing.assert_allclose(gradient, whole[path], rtol=1e-4, atol=1e-5)
        else:  # Source embeddings have a second, unscaled path.
            assert not np.allclose(6 * gradient, whole[path], rtol=1e-2)


@both
def test_future_tokens_and_neighbors_change_nothing(choices):
    model, inputs = conv_seq2seq(**choices), batch()
    before, changed = model(inputs)[LOGITS], {key: array.copy() for key, array in inputs.items()}
    changed[TOKENS][:, 3:] = PAD_ID
    changed[SOURCE][0] = 1
    np.testing.assert_allclose(model(changed)[LOGITS][1:, :3], before[1:, :3], atol=1e-5)


@both
def test_more_padding_changes_nothing(choices):
    model, inputs = conv_seq2seq(**choices), batch()
    outputs = model(inputs)
    padded = model({**inputs, SOURCE: np.pad(inputs[SOURCE], [(0, 0), (0, 4)])})
    np.testing.assert_allclose(padded[LOGITS], outputs[LOGITS], atol=1e-5)
    np.testing.assert_allclose(padded[WEIGHTS][..., :7], outputs[WEIGHTS], atol=1e-6)
    assert not np.any(padded[WEIGHTS][..., 7:])


@pytest.mark.parametrize(("sources", "targets"), [(0, 5), (1, 5), (7, 1), (1, 1), (7, 0)])
def test_short_texts(sources, targets):
    model, inputs = conv_seq2seq(), batch()
    outputs = model({SOURCE: inputs[SOURCE][:, :sources], TOKENS: inputs[TOKENS][:, :targets]})
    assert outputs[LOGITS].shape == (3, targets, 17) and np.isfinite(outputs[LOGITS]).all()
    assert outputs[WEIGHTS].shape == (3, targets, sources)
    if sources:
        np.testing.assert_allclose(np.sum(outputs[WEIGHTS], -1), 1, rtol=1e-5)


def test_an_empty_source_is_finite():
    model, inputs = conv_seq2seq(), batch()
    inputs[SOURCE][0] = PAD_ID
    with tf.GradientTape() as tape:
        outputs = model(inputs)
        loss = tf.reduce_sum(tf.sin(outputs[LOGITS]))
    assert np.isfinite(outputs[LOGITS]).all() and not np.any(outputs[WEIGHTS][0])
    for gradient in tape.gradient(loss, model.trainable_weights):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_the_context_is_scaled_by_the_unpadded_length():
    layer, random = MultiStepAttention(), np.random.default_rng(5)
    query, value = (random.normal(size=size).astype("float32") for size in ((2, 3, 5), (2, 11, 7)))
    mask = np.arange(11) < np.array([[4], [9]])
    outputs, weights = layer(query, value, value_mask=mask, return_attention_scores=True)
    context = np.einsum("bts,bsf->btf", weights, value) * np.sqrt([[[4]], [[9]]])
    kernel = layer.output_projection.kernels().kernel
    expected = (query + context @ keras.ops.convert_to_numpy(kernel)) * 0.5**0.5
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)


def test_dropout_is_on_in_training_only():
    model, inputs = conv_seq2seq(dropout=0.5), batch()
    plain = model(inputs)[LOGITS]
    np.testing.assert_array_equal(model(inputs, training=False)[LOGITS], plain)
    trained = [model(inputs, training=True)[LOGITS] for _ in range(2)]
    assert not np.allclose(trained[0], plain) and not np.allclose(*trained)
    values, keys, _ = model.encode(inputs[SOURCE], training=True)
    assert not np.allclose(keys, model.encode(inputs[SOURCE])[1])
    assert np.isfinite(values).all()


def test_weights_of_a_chosen_layer():
    inputs = batch()
    model = conv_seq2seq(weights_layer=-3)
    np.testing.assert_allclose(model(inputs)[WEIGHTS], model.attention(inputs).cross[0][:, 0])
    assert model.shown_weights == "layer 1 of 3"
    assert conv_seq2seq().shown_weights == "mean over the decoder's 3 layers"


def test_files_and_configs(tmp_path):
    model = conv_seq2seq(weights_layer=1, **TIED)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == model.get_config() and loaded.config == model.config
    np.testing.assert_array_equal(loaded(batch())[LOGITS], model(batch())[LOGITS])


@pytest.mark.parametrize("choices", [{}, TIED], ids=["untied", "tied"])
def test_mixed_precision_has_logits_and_weights_in_float32(choices):
    model = conv_seq2seq(**choices)
    keras.config.set_dtype_policy("mixed_bfloat16")
    low = conv_seq2seq(**choices)
    outputs, expected = low(batch()), model(batch())
    for key in (LOGITS, WEIGHTS):
        assert outputs[key].dtype == tf.float32
        np.testing.assert_allclose(outputs[key], expected[key], atol=0.1)
    assert low.encode(batch()[SOURCE])[0].dtype == tf.bfloat16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder_layers": []}, r"Expected encoder_layers as pairs .* Received: .*=\[\]"),
        ({"decoder_layers": [(7, 3), 5]}, r"decoder_layers as pairs .*Received: .*5\]"),
        ({"decoder_layers": [(0, 3)]}, r"Expected channels of decoder_layers >= 1\. Received"),
        ({"decoder_layers": [(3, True)]}, r"Expected kernel widths of decoder_layers >= 1"),
        ({"encoder_layers": [(7, 4)]}, r"odd kernel widths in encoder_layers\. Received: widths 4"),
        ({"embedding_dim": 0}, r"Expected embedding_dim >= 1\. Received: embedding_dim=0"),
        ({"target_vocabulary_size": 0}, "Expected target_vocabulary_size >= 1"),
        ({"dropout": 1.0}, r"Expected 0 <= dropout < 1\. Received: dropout=1\.0"),
        ({"positions": "none"}, r"Expected positions in .*Received: positions='none'"),
        ({"tied": "source"}, r"Expected tied in .*Received: tied='source'"),
        ({"tied": "decoder"}, r"output_dim=embedding_dim for tied='decoder'\. Received: .*=3"),
        ({"tied": "all", "output_dim": 5}, r"one vocabulary for tied='all'\. Received: .*17"),
    ],
)
def test_sizes_that_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        ConvSeq2SeqConfig(**{**SIZES, **changes})


def test_calls_that_cannot_be():
    model, inputs = conv_seq2seq(), batch()
    with pytest.raises(ValueError, match=r"as many sources as targets\. Received: .*\(3, 7\)"):
        model({**inputs, TOKENS: inputs[TOKENS][:2]})
    with pytest.raises(ValueError, match=r"at most 19 positions\. Received: 23"):
        model({**inputs, SOURCE: np.ones((3, 23), "int32")})
    with pytest.raises(ValueError, match=r"source of shape \(B, S\)\. Received: shape=\(3, 7, 1\)"):
        model({**inputs, SOURCE: inputs[SOURCE][..., None]})
    with pytest.raises(ValueError, match=r"Expected weights_layer in -3\.\.2, or None.*=3"):
        ConvSeq2Seq(ConvSeq2SeqConfig(**SIZES), weights_layer=3)
    with pytest.raises(ValueError, match=r"as many queries as values in a batch\. Received: 3 and"):
        model.decoder(inputs[TOKENS], np.ones((2, 7, 5), "float32"))
    with pytest.raises(ValueError, match=r"value and key of equal batch and length"):
        model.decoder(inputs[TOKENS], np.ones((3, 7, 5)), np.ones((3, 11, 5)))
    with pytest.raises(ValueError, match=r"width embedding_dim=5\. Received: shape=\(2, 3, 7\)"):
        model.encoder.__class__(model.config)(np.ones((2, 3, 7)))


def test_layers_that_cannot_be():
    with pytest.raises(ValueError, match=r"odd kernel_size with padding='same'.*kernel_size=2"):
        GatedConvolution(3, 2, "same")
    with pytest.raises(ValueError, match=r"Expected padding in .*Received: padding='valid'"):
        GatedConvolution(3, 3, "valid")
    with pytest.raises(ValueError, match=r"Expected filters >= 1\. Received: filters=0"):
        GatedConvolution(0, 3, "same")
    with pytest.raises(ValueError, match=r"Expected units >= 1\. Received: units=0"):
        WeightNormalizedDense(0)
    with pytest.raises(ValueError, match=r"embedded of the key's width 7\. Received: shape=.*5\)"):
        MultiStepAttention()(np.ones((2, 3, 5)), np.ones((2, 11, 7)), embedded=np.ones((2, 3, 5)))
