"""The matrix: what every layer of the registry must do."""

import functools
import inspect
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.serving.export import unservable_ops
from tests.backends import BACKENDS
from tests.conformance.registry import CASES
from tests.conformance.replay import flat
from tests.processes import run_module
from tests.quick import rows

each_case = pytest.mark.parametrize("name", sorted(CASES))
QUICK = {
    "additive",
    "copy_mixture",
    "decoder_block",
    "differential",
    "general",
    "local_predictive",
    "memory_network",
    "multi_head",
    "patch_encoder",
    "relation_bias",
    "small_conv",
    "text_classifier",
}
"""A case of each base class, and of each kind of layer that has failed alone."""
INSIDE = {
    "bottleneck_decoder",
    "caption_decoder",
    "conv_decoder",
    "conv_encoder",
    "gru_decoder",
    "hard_decoder",
    "image_classifier",
    "mean_decoder",
    "planning_decoder",
    "progressive_language_model",
    "recurrent_encoder",
    "relative_decoder",
    "rotary_encoder",
    "sinusoidal_encoder",
    "spatial_transformer_classifier",
    "text_encoder",
    "transformer_caption_decoder",
    "transformer_decoder",
    "transformer_encoder",
    "vision_transformer",
}
"""Encoders and decoders of many layers, which have rows of their own."""
some_cases_quick = pytest.mark.parametrize(
    "name", rows(sorted(CASES.keys() - INSIDE), QUICK) + rows(sorted(INSIDE), (), "slow")
)
others_slow = pytest.mark.parametrize("name", rows(sorted(CASES), QUICK, "slow"))


def check_equal(outputs, expected, tolerance=1e-5):
    """Equal to the rounding of the largest value: a small one may be a difference of large ones."""
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs, expected):
        least = tolerance * max(1.0, np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(output, wanted, rtol=tolerance, atol=least)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A function that saves a case as a .keras file with inputs, once; what it answered here."""
    folder = tmp_path_factory.mktemp("saved")

    @functools.cache
    def save(name):
        keras.utils.set_random_seed(7)  # Whatever was saved before.
        model, inputs = CASES[name].model(), CASES[name].arrays()
        model.save(folder / f"{name}.keras")
        np.savez(folder / f"{name}.inputs.npz", *inputs)
        return flat(model(inputs))

    return folder, save


@pytest.fixture(scope="module", params=BACKENDS)
def replayed(request, saved):
    """What a fresh process of a backend answers with the saved files."""
    folder, save = saved
    for name in CASES:
        save(name)
    run_module("tests.conformance.replay", folder, request.param, backend=request.param)
    return folder / request.param


@pytest.mark.systems
@each_case
def test_fresh_process_and_backend(name, saved, replayed):
    with np.load(replayed / f"{name}.npz") as arrays:
        check_equal([arrays[key] for key in arrays.files], saved[1](name))


@each_case
def test_config_round_trip(name):
    layer = CASES[name].make(name="mine")
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert again.get_config() == config
    assert again.name == "mine"
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    for parameter in parameters:
        if parameter.default is not inspect.Parameter.empty:
            assert config[parameter.name] != parameter.default, (
                f"{parameter.name} is at its default in the registry"
            )


@some_cases_quick
def test_saved_model(name, saved, tmp_path):
    folder, save = saved
    expected = save(name)
    model = keras.saving.load_model(folder / f"{name}.keras")
    model.export(tmp_path / "export", verbose=False)
    assert not unservable_ops(tmp_path / "export")
    inputs = [tf.constant(array) for array in CASES[name].arrays()]
    loaded = tf.saved_model.load(tmp_path / "export")
    check_equal(flat(loaded.serve(inputs)), expected)


@others_slow
def test_jit(name):
    model, inputs = CASES[name].model(), CASES[name].arrays()
    compiled = tf.function(model, jit_compile=True)
    check_equal(flat(compiled(inputs)), flat(model(inputs)), 1e-4)


@some_cases_quick
def test_mixed_bfloat16(name):
    case, inputs = CASES[name], CASES[name].arrays()
    layer, options = case.make(), case.options()
    wanted = flat(layer(*inputs, **options))
    keras.config.set_dtype_policy("mixed_bfloat16")
    low = case.make()
    low(*inputs, **options)
    low.set_weights(layer.get_weights())
    outputs = keras.tree.flatten(low(*inputs, **options))
    for output, expected in zip(outputs, wanted, strict=True):
        assert output.dtype in (tf.bfloat16, tf.float32)
        values = keras.ops.convert_to_numpy(keras.ops.cast(output, "float32"))
        assert np.max(np.abs(values - expected)) < 0.06 * max(1.0, np.max(np.abs(expected)))


@some_cases_quick
def test_gradients_reach_every_weight(name):
    case, inputs = CASES[name], CASES[name].arrays()
    layer = case.make()
    with tf.GradientTape() as tape:
        outputs = keras.tree.flatten(layer(*inputs, **case.options()))
        loss = sum(tf.reduce_sum(tf.sin(7.0 * output)) for output in outputs)
    for weight, gradient in zip(
        layer.trainable_weights, tape.gradient(loss, layer.trainable_weights)
    ):
        if any(part in weight.path for part in case.sampled):
            assert gradient is None, weight.path
            continue
        gradient = tf.convert_to_tensor(gradient).numpy()
        assert np.isfinite(gradient).all(), weight.path
        # More than rounding. A softmax over keys does not see what is added to all of them.
        is_key_bias = weight.path.endswith(("key_bias", "key/bias"))
        assert np.abs(gradient).max() > 1e-5 or is_key_bias, weight.path


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.memory))
def test_masked_memory(name):
    case = CASES[name]
    layer, (query, *memory) = case.make(), case.arrays()
    layer(query, *memory)
    for weight in layer.weights:
        if weight.name == "output_bias":
            weight.assign(np.zeros(weight.shape))
    mask = np.ones(memory[0].shape[:2], bool)
    mask[0, 2:] = False
    mask[1] = False
    options = {"value_mask": mask, "return_attention_scores": True}
    context, *_, weights = layer(query, *memory, **options)
    changed = [np.where(mask[..., None], array, 100.0) for array in memory]
    check_equal([layer(query, *changed, **options)[-1]], [weights])
    assert not np.any(weights[0, ..., 2:]) and np.all(weights[0, ..., :1])
    assert not np.any(weights[1])
    assert name.endswith(("decoder_block", "multi_step")) or not np.any(context[1])
    totals = np.sum(weights[0], -1)
    if name == "differential" or any(weight.name == "sinks" for weight in layer.weights):
        assert np.all(totals < 1)
    else:
        np.testing.assert_allclose(totals, 1, rtol=1e-6)


@each_case
def test_weights_only_where_asked(name):
    case, inputs = CASES[name], CASES[name].arrays()
    if not case.scores:
        pytest.skip("has no weights to return")
    layer = case.make()
    outputs = layer(*inputs, **dict(case.arguments))
    assert not isinstance(outputs, tuple)
    np.testing.assert_array_equal(outputs, layer(*inputs, **case.options())[0])


@some_cases_quick
def test_shapes_and_types_before_it_runs(name):
    case, inputs = CASES[name], CASES[name].arrays()
    layer = case.make(dtype="mixed_bfloat16")
    outputs = keras.tree.flatten(layer(*inputs, **case.options()))
    symbols = [keras.KerasTensor(input.shape, str(input.dtype)) for input in inputs]
    told = keras.tree.flatten(layer.compute_output_spec(*symbols, **case.options()))
    for spec, output in zip(told, outputs, strict=True):
        assert spec.shape == tuple(output.shape) and spec.dtype == output.dtype.name
    shape = layer.compute_output_shape(*(input.shape for input in inputs))
    first = shape if isinstance(shape[0], int) else shape[0]
    assert tuple(first) == tuple(outputs[0].shape)


@some_cases_quick
def test_float64(name):
    case, inputs = CASES[name], CASES[name].arrays()
    expected = keras.tree.flatten(case.make(dtype="mixed_bfloat16")(*inputs, **case.options()))
    inputs = [input.astype("float64") if input.dtype == "float32" else input for input in inputs]
    outputs = keras.tree.flatten(case.make(dtype="float64")(*inputs, **case.options()))
    for output, half in zip(outputs, expected, strict=True):
        assert output.dtype == (tf.float64 if half.dtype == tf.bfloat16 else half.dtype)
        assert np.isfinite(output).all()


SUBLAYERS = {"general", "recurrent_encoder", "next_source", "text_classifier"}


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
@pytest.mark.filterwarnings("ignore:.* is not quantized, and keras.Model.quantize does not reach")
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("name", rows(sorted(CASES), SUBLAYERS))
def test_quantized(name):
    model, inputs = CASES[name].model(), CASES[name].arrays()
    expected = flat(model(inputs))
    model.quantize("int8")
    outputs = flat(model(inputs))
    moved = [np.abs(output - wanted).max() for output, wanted in zip(outputs, expected)]
    assert max(moved) > 0 or name not in SUBLAYERS
    # The computer's order of free slots jumps.
    least = 0.3 if name == "neural_computer" else 0.05
    for difference, wanted in zip(moved, expected, strict=True):
        assert difference < least * max(1.0, np.abs(wanted).max())


@some_cases_quick
def test_empty_batch(name):
    case, inputs = CASES[name], CASES[name].arrays()
    layer = case.make()
    expected = keras.tree.flatten(layer(*inputs, **case.options()))
    with tf.GradientTape() as tape:
        outputs = keras.tree.flatten(layer(*(input[:0] for input in inputs), **case.options()))
        loss = sum(tf.reduce_sum(output) for output in outputs)
    for output, wanted in zip(outputs, expected, strict=True):
        assert tuple(output.shape) == (0, *wanted.shape[1:])
    for gradient in tape.gradient(loss, layer.trainable_weights):
        assert gradient is None or not np.any(tf.convert_to_tensor(gradient))


@others_slow
def test_summary_clone_and_weights(name, capsys):
    model, inputs = CASES[name].model(), CASES[name].arrays()
    model.summary()
    assert "Total params" in capsys.readouterr().out
    again = keras.models.clone_model(model)
    again.set_weights(model.get_weights())
    check_equal(flat(again(inputs)), flat(model(inputs)))


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz here")
@others_slow
def test_plot_model(name, tmp_path):
    pytest.importorskip("pydot")
    keras.utils.plot_model(CASES[name].model(), tmp_path / "model.png", show_shapes=True)
    assert (tmp_path / "model.png").stat().st_size > 1000
