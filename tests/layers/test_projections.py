"""Low-rank updates and 8-bit kernels of attention and feed-forward layers."""

import gc
import warnings
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn.layers import (
    AlibiBias,
    FeedForward,
    MultiHeadAttention,
    TransformerEncoderBlock,
)
from keras_attn.layers.projections import merge_lora
from keras_attn.models import SmallConvEncoder, SpatialTransformerClassifier
from keras_attn.training import RegularizedDropout
from keras_attn.training.losses import TokenCrossEntropy
from tests.backends import OTHERS
from tests.models.tiny_transformer import MODERN, batch, transformer
from tests.processes import run_module
from tests.training.tiny import batch as captions
from tests.training.tiny import transformer_captioner

RANDOM = np.random.default_rng(5)
INPUTS = RANDOM.normal(size=(2, 11, 5)).astype("float32")
LAYERS = {
    "grouped": lambda: MultiHeadAttention(4, 3, 7, num_key_value_heads=2, dropout=0.2),
    "gated": lambda: FeedForward(7, activation="silu", gated=True, dropout=0.2),
    "plain": lambda: FeedForward(7),
}
each_layer = pytest.mark.parametrize("name", LAYERS)


def built(name):
    layer = LAYERS[name]()
    layer.build(INPUTS.shape)
    return layer


def randomize(layer):
    """Updates that change something."""
    for weight in layer.weights:
        if "_lora_" in weight.name:
            weight.assign(RANDOM.normal(0, 0.5, weight.shape))


@each_layer
def test_lora_adds_a_product_of_low_rank(name):
    layer, plain = built(name), built(name)
    plain.set_weights(layer.get_weights())
    before = layer(INPUTS)
    layer.enable_lora(2, lora_alpha=3.0)
    np.testing.assert_array_equal(layer(INPUTS), before)
    randomize(layer)
    for kernel in layer.made_kernels():
        first, second = (np.array(getattr(layer, f"{kernel}_lora_{part}")) for part in "ab")
        assert first.shape[1] == second.shape[0] == 2
        weight = getattr(plain, kernel)
        weight.assign(weight + ((first @ second) * 3 / 2).reshape(weight.shape))
    outputs = plain(INPUTS)
    assert np.abs(outputs - before).max() > 0.1
    np.testing.assert_allclose(layer(INPUTS), outputs, atol=1e-5)
    layer.merge_lora()
    np.testing.assert_allclose(layer(INPUTS), outputs, atol=1e-5)
    assert [weight.name for weight in layer.weights] == [weight.name for weight in plain.weights]
    assert all(weight.trainable for weight in layer.weights)


@each_layer
def test_eight_bits_round_each_column(name):
    layer, plain = built(name), built(name)
    plain.set_weights(layer.get_weights())
    layer.quantize("int8")
    layer.quantize("int8")
    for kernel in plain.made_kernels():
        held, wanted = np.array(layer.matrix(kernel)), np.array(plain.matrix(kernel))
        most = np.abs(wanted).max(0) / 127
        assert getattr(layer, kernel).dtype == "int8"
        assert np.all(np.abs(held - wanted) <= most * 0.5001)
    expected = plain(INPUTS)
    difference = np.abs(layer(INPUTS) - expected).max()
    assert 0 < difference < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("change", ["lora", "int8", "both"])
def test_layers_of_a_keras_model_are_saved_as_they_are(change, tmp_path):
    inputs = keras.Input((11, 5))
    block = TransformerEncoderBlock(2, 3, 3, 7, positions=AlibiBias(2))
    model = keras.Model(inputs, MultiHeadAttention(2, 3, dropout=0.2)(block(inputs)))
    if change != "lora":
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.quantize("int8")
        assert "AlibiBias is not quantized" in " ".join(str(each.message) for each in said)
        assert model.layers[-1].query_kernel.dtype == block.feed_forward.hidden_kernel.dtype
        assert model.layers[-1].query_kernel.dtype == "int8"
        block.attention.quantize("int8")
    if change != "int8":
        model.layers[-1].enable_lora(2, targets=["query"])
        block.feed_forward.enable_lora(3)
    randomize(model)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(INPUTS), model(INPUTS))
    assert [w.dtype for w in again.weights] == [w.dtype for w in model.weights]
    assert [w.trainable for w in again.weights] == [w.trainable for w in model.weights]


def test_a_model_trains_saves_and_exports_its_updates_only(tmp_path):
    model, inputs = transformer(num_layers=1, **MODERN["rotary"]), batch()
    expected = model(inputs)[LOGITS]
    model.enable_lora(2, targets=["decoder", "query"])
    np.testing.assert_array_equal(model(inputs)[LOGITS], expected)
    assert {weight.name.split("_lora_")[0] for weight in model.trainable_weights} == {
        *(f"{name}_kernel" for name in ("query", "key", "value", "output", "gate", "hidden"))
    }
    assert sum("encoder" in weight.path for weight in model.trainable_weights) == 2
    frozen = {w.path: w.numpy() for w in model.weights if not w.trainable}
    model.compile(keras.optimizers.Adam(0.05), TokenCrossEntropy(), run_eagerly=True)
    losses = [model.train_on_batch(inputs, np.roll(inputs[TOKENS], -1, 1)) for _ in range(3)]
    assert losses[-1] < losses[0]
    for weight in model.weights:
        if weight.path in frozen:
            np.testing.assert_array_equal(weight, frozen[weight.path])
    expected = model(inputs)[LOGITS]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(inputs)[LOGITS], expected)
    assert len(again.trainable_weights) == len(model.trainable_weights)
    memory, state = again.start(inputs[SOURCE], 5)
    for time in range(5):
        result = again.step(inputs[TOKENS][:, time], memory, state)
        state = result.state
        np.testing.assert_allclose(result.logits, expected[:, time], atol=1e-5)
    again.export(tmp_path / "export", verbose=False)
    served = tf.saved_model.load(tmp_path / "export")
    np.testing.assert_allclose(served.serve(inputs)[LOGITS], expected, atol=1e-5)
    again.merge_lora()
    np.testing.assert_allclose(again(inputs)[LOGITS], expected, atol=1e-5)
    assert len(again.weights) == len(frozen) and len(again.trainable_weights) == len(frozen)


def test_garbage_is_not_collected_for_each_weight(monkeypatch):
    """It takes up to a second, beside a large model, and the weights are freed without it."""
    layer, collected = built("grouped"), []
    kernel = weakref.ref(layer.query_kernel)
    layer.enable_lora(2)
    monkeypatch.setattr(gc, "collect", lambda: collected.append(len(layer.weights)))
    layer.merge_lora()
    layer.quantize("int8")
    assert not collected and kernel() is None


@pytest.mark.parametrize("change", ["lora", "int8"])
def test_a_config_makes_the_same_layers_before_any_file_is_read(change):
    layer, inputs = built("grouped"), keras.Input((11, 5))
    model = keras.Model(inputs, layer(inputs))
    layer.enable_lora(2, targets=["query"]) if change == "lora" else layer.quantize("int8")
    randomize(model)
    again = MultiHeadAttention.from_config(layer.get_config())
    again.build(INPUTS.shape)
    clone = keras.models.clone_model(model)
    for copy in (again, clone):
        copy.set_weights(model.get_weights())
        np.testing.assert_array_equal(copy(INPUTS), model(INPUTS))
        assert [w.trainable for w in copy.weights] == [w.trainable for w in model.weights]


@pytest.mark.parametrize("staged", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_model_that_holds_an_adapted_model_is_saved(staged, tmp_path):
    """The config of the inner one says what was done to it, and so does that of the outer one."""
    if staged:
        model, inputs = transformer(num_layers=1), batch()
        model.enable_lora(2)
        outer = RegularizedDropout(model)
    else:
        outer, inputs = transformer_captioner(), captions(1)[0]
        with warnings.catch_warnings(action="ignore"):
            outer.quantize("int8")  # Also a Dense of Keras' own.
        outer.encoder.trainable = False
        outer.enable_lora(2)
    randomize(outer)
    outer.save(tmp_path / "outer.keras")
    again = keras.saving.load_model(tmp_path / "outer.keras")
    np.testing.assert_array_equal(again(inputs)[LOGITS], outer(inputs)[LOGITS])
    assert [w.trainable for w in again.weights] == [w.trainable for w in outer.weights]
    assert len(again.trainable_weights) == len(outer.trainable_weights)
    if staged:
        merge_lora(again)
        assert len(again.trainable_weights) == len(transformer(num_layers=1).weights)


def test_a_model_in_eight_bits_is_smaller_and_nearly_equal(tmp_path):
    model, inputs = transformer(num_layers=1, **MODERN["rotary"]), batch()
    expected = model(inputs)[LOGITS]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.quantize("int8")
    named = {str(warning.message).split()[1] for warning in said}
    assert named == {"RMSNormalization", "ScaledEmbedding"}
    outputs = model(inputs)[LOGITS]
    assert 0 < np.abs(outputs - expected).max() < 0.03 * np.abs(expected).max()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(inputs)[LOGITS], outputs)
    again.enable_lora(2)
    np.testing.assert_array_equal(again(inputs)[LOGITS], outputs)
    with pytest.raises(ValueError, match=r"floats to merge LoRA into.*Received: int8 in"):
        again.merge_lora()


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS[1:])
def test_parameters_of_an_adapted_model_in_pytorch(backend):
    run_module("tests.layers.torch_parameters", backend=backend)


def test_what_cannot_be_done_is_refused():
    layer = MultiHeadAttention(2, 3)
    with pytest.raises(ValueError, match="Expected a built layer for"):
        layer.enable_lora(2)
    layer.build(INPUTS.shape)
    for rank in (0, 2.5):
        with pytest.raises(ValueError, match=f"rank >= 1.*Received: rank={rank}"):
            layer.enable_lora(rank)
    with pytest.raises(ValueError, match=r"a target in \['query', 'key', .*'hidden'"):
        layer.enable_lora(2, targets=["hidden"])
    with pytest.raises(ValueError, match=r"lora_alpha > 0\. Received: lora_alpha=0"):
        layer.enable_lora(2, 0)
    for targets in ("query", []):
        with pytest.raises(ValueError, match="a list of names, or None for all"):
            layer.enable_lora(2, targets=targets)
    with pytest.raises(NotImplementedError, match=r"quantize.'int8'.*Received: mode='int4'"):
        layer.quantize("int4")
    layer.enable_lora(2, targets=["query", "query"])
    assert len(layer.trainable_weights) == 9
    with pytest.raises(ValueError, match=r"merge_lora\(\) before quantize"):
        layer.quantize("int8")
    with pytest.raises(ValueError, match="without LoRA"):
        layer.enable_lora(2)
    model = transformer(num_layers=1)
    with pytest.raises(ValueError, match=r"LoRA targets in attention, .*Received: q_proj"):
        model.enable_lora(2, targets=["query", "q_proj"])
    with pytest.raises(ValueError, match="a list of names"):
        model.enable_lora(2, targets="decoder")
    assert all(weight.trainable for weight in model.trainable_weights)
    model.enable_lora(2, targets=["decoder"])
    for filters in (None, "embedding"):
        with pytest.raises(ValueError, match="before quantize"):
            model.quantize("int8", filters=filters)
    assert "int8" not in {weight.dtype for weight in model.weights}


def test_a_model_without_projections_says_so():
    model = SpatialTransformerClassifier([], SmallConvEncoder((3,), (3,)), 7)
    model.build((None, 7, 11, 3))
    with pytest.raises(ValueError, match="projections of attention or feed-forward layers"):
        model.enable_lora(2)
