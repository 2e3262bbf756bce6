"""The matrix: what every layer of the registry must do."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.serving.export import unservable_ops
from tests.conformance.registry import CASES
from tests.conformance.replay import flat
from tests.processes import run_module

each_case = pytest.mark.parametrize("name", sorted(CASES))


def check_equal(found, expected, tolerance=1e-5):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every case as a .keras file with inputs, and what it answered here."""
    folder, answers = tmp_path_factory.mktemp("saved"), {}
    for name, case in CASES.items():
        model, inputs = case.model(), case.arrays()
        model.save(folder / f"{name}.keras")
        np.savez(folder / f"{name}.inputs.npz", *inputs)
        answers[name] = flat(model(inputs))
    return folder, answers


@pytest.fixture(scope="module", params=["tensorflow", "jax"])
def replayed(request, saved):
    """What a fresh process of a backend answers with the saved files."""
    folder, _ = saved
    run_module("tests.conformance.replay", folder, request.param, backend=request.param)
    return folder / request.param


@each_case
def test_fresh_process_and_backend(name, saved, replayed):
    with np.load(replayed / f"{name}.npz") as arrays:
        check_equal([arrays[key] for key in arrays.files], saved[1][name])


@each_case
def test_config_round_trip(name):
    layer = CASES[name].make(name="mine")
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert again.get_config() == config
    assert again.name == "mine"
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    for one in parameters:
        if one.default is not inspect.Parameter.empty:
            assert config[one.name] != one.default, f"{one.name} is at its default in the registry"


@each_case
def test_saved_model(name, saved, tmp_path):
    model = keras.saving.load_model(saved[0] / f"{name}.keras")
    model.export(tmp_path / "export", verbose=False)
    assert not unservable_ops(tmp_path / "export")
    inputs = [tf.constant(one) for one in CASES[name].arrays()]
    loaded = tf.saved_model.load(tmp_path / "export")
    check_equal(flat(loaded.serve(inputs)), saved[1][name])


@each_case
def test_jit(name):
    model, inputs = CASES[name].model(), CASES[name].arrays()
    compiled = tf.function(model, jit_compile=True)
    check_equal(flat(compiled(inputs)), flat(model(inputs)), 1e-4)


@each_case
def test_mixed_bfloat16(name):
    case, inputs = CASES[name], CASES[name].arrays()
    model = case.model()
    keras.config.set_dtype_policy("mixed_bfloat16")
    low = case.model()
    low.set_weights(model.get_weights())
    for one, other in zip(keras.tree.flatten(low(inputs)), flat(model(inputs))):
        assert one.dtype in (tf.bfloat16, tf.float32)
        found = keras.ops.convert_to_numpy(keras.ops.cast(one, "float32"))
        assert np.max(np.abs(found - other)) < 0.06 * max(1.0, np.max(np.abs(other)))


@each_case
def test_gradients_reach_every_weight(name):
    model, inputs = CASES[name].model(), CASES[name].arrays()
    with tf.GradientTape() as tape:
        loss = sum(tf.reduce_sum(tf.sin(7.0 * one)) for one in keras.tree.flatten(model(inputs)))
    for weight, gradient in zip(
        model.trainable_weights, tape.gradient(loss, model.trainable_weights)
    ):
        if any(part in weight.path for part in CASES[name].sampled):
            assert gradient is None, weight.path
            continue
        gradient = tf.convert_to_tensor(gradient).numpy()
        assert np.isfinite(gradient).all(), weight.path
        assert np.abs(gradient).max() > 0, weight.path


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.key_mask))
def test_masks(name):
    case = CASES[name]
    layer, (query, keys) = case.make(), case.arrays()
    mask = np.ones(keys.shape[:2], bool)
    mask[0, 2:] = False
    mask[1] = False
    context, weights = layer(query, keys, key_mask=mask)
    changed = np.where(mask[..., None], keys, 100.0)
    check_equal(flat(layer(query, changed, key_mask=mask)[1]), [weights])
    assert not np.any(weights[0, ..., 2:]) and np.all(weights[0, ..., :1] > 0)
    assert not np.any(weights[1]) and not np.any(context[1])
    np.testing.assert_allclose(np.sum(weights[0], -1), 1, rtol=1e-6)
