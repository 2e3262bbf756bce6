"""Every model is fitted, saved and loaded on every backend; all of them learn the same."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import IMAGE, START_ID, TOKENS
from keras_attn.decoding import Beam, Greedy, decode
from tests.backends import OTHERS
from tests.conformance import models
from tests.conformance.registry import CASES
from tests.processes import run_module
from tests.quick import rows

QUICK = {"conv_seq2seq", "vision_classifier"}


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A function from a backend to the folder with the weights of every model after one step."""
    folder = tmp_path_factory.mktemp("models")
    models.write(folder)

    @functools.cache
    def learn(backend):
        run_module("tests.conformance.models", folder, backend, backend=backend)
        return folder / backend

    return learn


@pytest.mark.systems
@pytest.mark.parametrize("backend", OTHERS)
@pytest.mark.parametrize("name", sorted(models.MODELS))
def test_a_step_is_the_same_on_every_backend(name, backend, learned):
    with (
        np.load(learned("tensorflow") / f"{name}.npz") as ours,
        np.load(learned(backend) / f"{name}.npz") as theirs,
    ):
        assert len(ours.files) == len(theirs.files) > 3
        for key in ours.files:
            np.testing.assert_allclose(ours[key], theirs[key], atol=2e-5, err_msg=key)


def test_no_attribute_of_a_class_hides_a_layer():
    """PyTorch keeps layers apart from other attributes, and finds a class's attribute first."""
    parts = [case.make() for case in CASES.values()] + [make() for make in models.MODELS.values()]
    hidden = {
        f"{type(layer).__name__}.{name}"
        for part in parts
        for layer in part._flatten_layers()
        for name, value in vars(layer).items()
        if isinstance(value, keras.Layer) and hasattr(type(layer), name)
    }
    assert len(parts) > 60 and not hidden


EXPORTED = ["transformer", "captioner", "vision_classifier", "text_classifier"]
EXPORTED += ["question_answerer", "scheduled_sampling"]
every_model = pytest.mark.parametrize("name", rows(sorted(models.MODELS), QUICK))


@pytest.mark.parametrize("name", rows(EXPORTED, {"captioner"}))
def test_exports_keep_the_types_of_tokens_and_pictures(name, tmp_path):
    model = models.MODELS[name]()
    model.build(models.input_shape(name))
    inputs, _ = models.batch(model)
    expected = models.numpy(model, inputs)
    model.export(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    outputs = loaded.serve(
        {key: tf.constant(value) for key, value in inputs.items()}
        if isinstance(inputs, dict)
        else tf.constant(inputs)
    )
    for output, wanted in zip(tf.nest.flatten(outputs), expected, strict=True):
        np.testing.assert_allclose(output, wanted, atol=1e-5)
    _, named = loaded.signatures["serve"].structured_input_signature
    types = {spec.dtype for spec in named.values()}
    assert types == (
        {tf.int32, tf.uint8}
        if isinstance(inputs, dict) and IMAGE in inputs
        else ({tf.int32} if isinstance(inputs, dict) else {tf.as_dtype(inputs.dtype)})
    )


@pytest.mark.parametrize("name", ["transformer", "parser", "captioner", "scheduled_sampling"])
def test_generate_is_decode(name):
    model = models.MODELS[name]()
    model.build()
    inputs, _ = models.batch(model)
    generated = model.generate(inputs, Beam(3), max_length=5)
    for part, expected in zip(generated, decode(model, inputs, Beam(3), 5)):
        np.testing.assert_array_equal(part, expected)
    with pytest.raises(ValueError, match=r"Expected a strategy of keras_attn\.decoding.*'greedy'"):
        model.generate(inputs, "greedy")


@keras.saving.register_keras_serializable(package="tests")
class Holder(keras.Model):
    """A model that holds another."""

    def __init__(self, held):
        super().__init__()
        self.held = held

    def call(self, inputs):
        return self.held(inputs)


@every_model
def test_summary_of_a_model_that_holds_it(name, capsys):
    model = models.MODELS[name]()
    if name in models.PICTURE_CLASSIFIERS:
        inputs = np.zeros((2, 6, 10, 3))
    else:
        inputs, _ = models.batch(model)
    holder = Holder(model)
    holder(inputs)
    holder.summary(expand_nested=True)
    assert "Total params" in capsys.readouterr().out


def test_tags_keep_their_mask_in_mixed_precision():
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = models.MODELS["parser"]()
    inputs, _ = models.batch(model)
    mask = model(inputs)["tag_logits"]._keras_mask
    np.testing.assert_array_equal(mask, inputs["source"].any(-1))


def test_wrong_batches_are_told_what_to_give():
    model = models.MODELS["transformer"]()
    inputs, _ = models.batch(model)
    with pytest.raises(TypeError, match="Expected a dict with 'source' and 'tokens'"):
        model(inputs[TOKENS])
    with pytest.raises(ValueError, match=r"Expected a dict with .*Received: keys \['source'\]"):
        model({"source": inputs["source"]})
    with pytest.raises(ValueError, match=r"Expected source of shape \(B, S\)"):
        model.generate(inputs["source"][0], Greedy())
    with pytest.raises(ValueError, match="Expected as many sources as targets"):
        model({**inputs, "source": inputs["source"][:2]})
    with pytest.raises(ValueError, match=r"Expected a strategy of keras_attn\.decoding"):
        model.generate(inputs, Greedy)


@every_model
def test_empty_batch(name):
    model = models.MODELS[name]()
    model.build(models.input_shape(name))
    inputs, _ = models.batch(model)
    expected = keras.tree.flatten(model(inputs))
    outputs = keras.tree.flatten(model(keras.tree.map_structure(lambda part: part[:0], inputs)))
    for output, wanted in zip(outputs, expected, strict=True):
        columns = (0,) if name == "dual_encoder" else wanted.shape[1:]  # One for each text.
        assert tuple(output.shape) == (0, *columns)


@pytest.mark.parametrize("name", ["small_conv", "text_classifier"])
def test_empty_batch_of_unknown_size(name):
    case = CASES[name]
    layer, (inputs,) = case.make(), case.arrays()
    signature = tf.TensorSpec((None, *inputs.shape[1:]), inputs.dtype)
    call = tf.function(layer, input_signature=[signature])
    expected = call(inputs)
    np.testing.assert_allclose(expected, layer(inputs), rtol=1e-5, atol=1e-5)
    assert tuple(call(inputs[:0]).shape) == (0, *expected.shape[1:])


@every_model
def test_float64(name):
    keras.config.set_dtype_policy("float64")
    model = models.MODELS[name]()
    model.build(models.input_shape(name))
    inputs, _ = models.batch(model)
    assert all(np.isfinite(output).all() for output in answers(model, inputs))
    assert any(weight.dtype == "float64" for weight in model.trainable_weights)


def answers(model, inputs):
    """Outputs, and where there is a decoder, the logits of its first step."""
    outputs = models.numpy(model, inputs)
    if not hasattr(model, "step"):
        return outputs
    tokens = keras.ops.full((4,), START_ID, "int32")
    return [*outputs, np.array(model.step(tokens, *model.start(inputs, 3)).logits)]


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@every_model
def test_quantized(name):
    model = models.MODELS[name]()
    model.build(models.input_shape(name))
    inputs, _ = models.batch(model)
    expected = answers(model, inputs)
    model.quantize("int8")
    for output, wanted in zip(answers(model, inputs), expected, strict=True):
        assert np.abs(output - wanted).max() < 0.05 * max(1.0, np.abs(wanted).max())


@every_model
def test_shapes_before_it_runs(name):
    model = models.MODELS[name]()
    model.build(models.input_shape(name))
    inputs, _ = models.batch(model)
    outputs = model(inputs)
    if not isinstance(outputs, dict):
        shapes = keras.tree.map_structure(np.shape, inputs)
        assert model.compute_output_shape(shapes) == tuple(outputs.shape)
    else:
        shapes = model.compute_output_shape({key: value.shape for key, value in inputs.items()})
        assert {key: tuple(value.shape) for key, value in outputs.items()} == shapes
        spec = model.compute_output_spec(
            {
                key: tf.keras.KerasTensor(value.shape, str(value.dtype))
                for key, value in inputs.items()
            }
        )
        assert {key: value.dtype for key, value in spec.items()} == {
            key: value.dtype.name for key, value in outputs.items()
        }
        mask = outputs["logits"]._keras_mask
        np.testing.assert_array_equal(mask, inputs[TOKENS] != 0)
