"""The Transformer equals its slow twin and PyTorch's; masks, files, training, presets."""

import gc
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS, WEIGHTS
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import PRESETS, TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder
from keras_attn.training.losses import TokenCrossEntropy
from tests.models.tiny_transformer import (
    LENGTH,
    MODERN,
    SIZES,
    VOCABULARY,
    batch,
    transformer,
)
from tests.reference import parameter_counts
from tests.reference import transformer as twin

GOLDEN = Path(__file__).parents[1] / "golden" / "transformer.npz"
BIAS = {"use_bias": True}


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"normalize_first": True, "tied": "decoder", **BIAS},
        {"positions": "learned", "tied": "none", "target_vocabulary_size": 17},
        {"normalize_first": True, "positions": "learned", "tied": "none", "epsilon": 0.3},
        *MODERN.values(),
    ],
)
def test_equals_its_twin(choices):
    model, inputs = transformer(**choices), batch()
    outputs, weights = model(inputs), model.attention(inputs)
    slow = twin.Twin(twin.parameters(model), model.config)
    for row in range(3):
        logits, expected = slow.run(inputs[SOURCE][row], inputs[TOKENS][row])
        np.testing.assert_allclose(outputs[LOGITS][row], logits, rtol=1e-5, atol=1e-5)
        queries = (inputs[SOURCE][row] != PAD_ID, slice(None), slice(None))
        for stack, expected_stack, real in zip(weights, expected, queries):
            for layer, expected_layer in zip(stack, expected_stack):
                layer, expected_layer = (
                    np.array(part)[:, real] for part in (layer[row], expected_layer)
                )
                np.testing.assert_allclose(layer, expected_layer, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(outputs[WEIGHTS][row], expected[2][-1].mean(0), atol=1e-5)


def load_torch(model, arrays):
    """Sets weights from torch's names."""
    named = {weight.path.split("/", 1)[1]: weight for weight in model.weights}
    named["decoder/embedding/table"].assign(arrays["embedding"])
    kinds = {"attention": "self_attn", "cross_attention": "multihead_attn"}
    for stack, count in (("encoder", 1), ("decoder", 2)):
        for n in range(model.config.num_layers):
            ours, theirs = f"{stack}/block_{n}", f"{stack}.layers.{n}"
            parts = [*list(kinds)[:count], "feed_forward"]
            for place, part in enumerate(parts, 1):
                load_norm(
                    named, f"{ours}/{part}_residual/normalization", arrays, f"{theirs}.norm{place}"
                )
            for part in parts[:-1]:
                load_attention(named, f"{ours}/{part}/", arrays, f"{theirs}.{kinds[part]}.")
            for name, other in (("hidden", "linear1"), ("output", "linear2")):
                prefix, other = f"{ours}/feed_forward/{name}", f"{theirs}.{other}"
                named[f"{prefix}_kernel"].assign(arrays[f"{other}.weight"].T)
                named[f"{prefix}_bias"].assign(arrays[f"{other}.bias"])
        if model.config.normalize_first:
            load_norm(named, f"{stack}/last_norm", arrays, f"{stack}.norm")


def load_attention(named, ours, arrays, theirs):
    def assign(name, array):
        named[f"{ours}{name}"].assign(array.reshape(named[f"{ours}{name}"].shape))

    kernels = np.split(arrays[f"{theirs}in_proj_weight"], 3)
    biases = np.split(arrays[f"{theirs}in_proj_bias"], 3)
    for name, kernel, bias in zip(("query", "key", "value"), kernels, biases):
        assign(f"{name}_kernel", kernel.T)
        assign(f"{name}_bias", bias)
    assign("output_kernel", arrays[f"{theirs}out_proj.weight"].T)
    assign("output_bias", arrays[f"{theirs}out_proj.bias"])


def load_norm(named, ours, arrays, theirs):
    named[f"{ours}/gamma"].assign(arrays[f"{theirs}.weight"])
    named[f"{ours}/beta"].assign(arrays[f"{theirs}.bias"])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_equals_torch(norm):
    with np.load(GOLDEN) as file:
        shared = {name: file[name] for name in ("source", "tokens", "embedding")}
        arrays = {name.removeprefix(f"{norm}/"): file[name] for name in file.files}
    model = transformer(normalize_first=norm == "pre", key_dim=3, value_dim=3, **BIAS)
    load_torch(model, arrays)
    logits = model({SOURCE: shared["source"], TOKENS: shared["tokens"]})[LOGITS]
    np.testing.assert_allclose(logits, arrays["logits"], rtol=1e-4, atol=1e-5)


def test_future_tokens_and_neighbors_change_nothing():
    model, inputs = transformer(), batch()
    before, changed = model(inputs)[LOGITS], {key: array.copy() for key, array in inputs.items()}
    changed[TOKENS][:, 3:] = PAD_ID
    changed[SOURCE][0] = 1
    np.testing.assert_allclose(model(changed)[LOGITS][1:, :3], before[1:, :3], atol=1e-6)


def test_more_padding_changes_nothing():
    model, inputs = transformer(), batch()
    outputs = model(inputs)
    padded = model({**inputs, SOURCE: np.pad(inputs[SOURCE], [(0, 0), (0, 4)])})
    np.testing.assert_allclose(padded[LOGITS], outputs[LOGITS], atol=1e-6)
    np.testing.assert_allclose(padded[WEIGHTS][..., :7], outputs[WEIGHTS], atol=1e-6)
    assert not np.any(padded[WEIGHTS][..., 7:])


def test_an_empty_source_is_finite():
    model, inputs = transformer(), batch()
    inputs[SOURCE][0] = PAD_ID
    with tf.GradientTape() as tape:
        outputs = model(inputs)
        loss = tf.reduce_sum(tf.sin(outputs[LOGITS]))
    assert np.isfinite(outputs[LOGITS]).all() and not np.any(outputs[WEIGHTS][0])
    for gradient in tape.gradient(loss, model.trainable_weights):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


@pytest.mark.parametrize("tied", ["none", "decoder", "all"])
def test_saved_file(tied, tmp_path):
    model, inputs = transformer(tied=tied, weights_layer=0), batch()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.get_config() == model.get_config() and again.config == model.config
    outputs, expected = again(inputs), model(inputs)
    np.testing.assert_allclose(outputs[LOGITS], expected[LOGITS], atol=1e-6)
    np.testing.assert_allclose(outputs[WEIGHTS], expected[WEIGHTS], atol=1e-6)
    assert len(again.weights) == len(model.weights)


@pytest.mark.slow
def test_training_steps_under_xla_equal_plain():
    model, inputs = transformer(num_layers=1), batch()
    targets = np.roll(inputs[TOKENS], -1, axis=1)
    data = inputs, targets, (targets != PAD_ID).astype("float32")
    weights, losses = model.get_weights(), []
    for jit in (False, True):
        model.set_weights(weights)
        model.compile(keras.optimizers.Adam(0.01), TokenCrossEntropy(0.1), jit_compile=jit)
        losses.append([float(model.train_on_batch(*data)) for _ in range(2)])
        losses[-1].append(float(model.test_on_batch(*data)))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[0][2] < losses[0][0]


def test_mixed_bfloat16():
    model, inputs = transformer(), batch()
    keras.config.set_dtype_policy("mixed_bfloat16")
    low = transformer()
    low.set_weights(model.get_weights())
    outputs, expected = low(inputs), model(inputs)
    assert {output.dtype for output in outputs.values()} == {tf.float32}
    np.testing.assert_allclose(outputs[LOGITS], expected[LOGITS], atol=0.3)
    np.testing.assert_allclose(tf.reduce_sum(outputs[WEIGHTS], -1), np.ones((3, LENGTH)), rtol=1e-6)


@pytest.mark.systems
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("tied", ["none", "decoder", "all"])
def test_parameters_are_counted(first, positions, tied):
    model = transformer(normalize_first=first, positions=positions, tied=tied, use_bias=first)
    assert parameter_counts.transformer(model.config) == model.count_params()


def test_parameters_of_table_3():
    for name, preset in PRESETS.items():
        millions = parameter_counts.transformer(preset.config(41_000)) / 1e6
        assert abs(millions / preset.millions - 1) < 0.03, name
    assert PRESETS["base"].config(41_000) == TransformerConfig(41_000)


def test_values_of_all_heads_are_as_wide_as_the_model():
    assert len({repr(preset) for preset in PRESETS.values()}) == len(PRESETS) == 20
    for name, preset in PRESETS.items():
        config = preset.config(41_000)
        assert config.num_heads * config.value_dim == config.hidden_dim, name


@pytest.fixture
def _nothing_left():
    """The largest model takes 3 GB with its gradients: none stays behind for the next."""
    yield
    keras.utils.clear_session()
    gc.collect()


@pytest.mark.slow
@pytest.mark.usefixtures("_nothing_left")
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_take_a_training_step(name):
    preset = PRESETS[name]
    model = Transformer(preset.config(1009))
    inputs = batch()
    targets = np.roll(inputs[TOKENS], -1, axis=1)
    model.compile(keras.optimizers.SGD(0.01), TokenCrossEntropy(preset.label_smoothing))
    losses = [float(model.train_on_batch(inputs, targets)) for _ in range(2)]
    assert np.isfinite(losses).all()
    assert model.count_params() == parameter_counts.transformer(preset.config(1009))


def test_bad_arguments():
    for name in ("vocabulary_size", "target_vocabulary_size", "num_heads", "key_dim"):
        with pytest.raises(ValueError, match=f"Received: {name}=0"):
            TransformerConfig(**{**SIZES, "vocabulary_size": VOCABULARY, name: 0})
    with pytest.raises(ValueError, match=r"Expected normalize_first to be.*'no'"):
        TransformerConfig(VOCABULARY, normalize_first="no")
    for name in ("positions", "tied"):
        with pytest.raises(ValueError, match=rf"Expected {name} in .*Received: {name}='no'"):
            TransformerConfig(VOCABULARY, **{name: "no"})
    with pytest.raises(ValueError, match=r"one vocabulary for tied='all'\. .*size=17"):
        TransformerConfig(VOCABULARY, 17)
    with pytest.raises(ValueError, match=r"Expected weights_layer in -2\.\.1"):
        transformer(weights_layer=2)
    for changes, message in (
        ({"positions": "alibi", "position_arguments": {"base": 7.0}}, "with positions in"),
        ({"position_arguments": {"base": 0.0}}, "base > 0"),
        ({"num_decoder_layers": 0}, "num_decoder_layers >= 1"),
        ({"output_bias": "no"}, "output_bias to be"),
        ({"positions": "rotary", "key_dim": 3}, "even key_dim"),
        ({"num_key_value_heads": 3}, "divides num_heads=8"),
        ({"parallel": True}, "normalize_first=True with parallel=True"),
        ({"normalization": "batch"}, "Received: normalization='batch'"),
        ({"sliding_window": 0}, "sliding_window >= 1"),
        ({"soft_cap": -1.0}, "soft_cap > 0"),
        ({"activation": "swash"}, "Received: activation='swash'"),
        ({"positions": "rotary", "position_arguments": {"bass": 7.0}}, "position_arguments.*bass"),
    ):
        with pytest.raises(ValueError, match=message):
            TransformerConfig(VOCABULARY, **changes)
    with pytest.raises(ValueError, match="Received: dropout=1"):
        transformer(dropout=1)


def test_weights_of_some_layers_also_of_symbolic_inputs():
    decoder = TransformerDecoder(TransformerConfig(11, num_layers=3, hidden_dim=4, num_heads=2))
    tokens, value = keras.Input((None,), dtype="int32"), keras.Input((None, 4))
    outputs = decoder(tokens, value, return_attention_scores=True, scored_layers=(0, -1))
    model = keras.Model([tokens, value], outputs)
    given = np.array([[5, 7, 3]]), np.ones((1, 2, 4), "float32")
    _, weights, cross = model(given)
    _, every, all_cross = decoder(*given, return_attention_scores=True)
    for some, whole in ((weights, every), (cross, all_cross)):
        for one, other in zip(some, (whole[0], whole[2]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"scored_layers in -3\.\.2\. Received: .*\(3,\)"):
        decoder(*given, return_attention_scores=True, scored_layers=(3,))
