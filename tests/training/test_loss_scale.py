"""Loss scaling: scaled gradients train as others do, an overflow is skipped, runs resume."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.training import (
    ClippedAdam,
    ClippedMuon,
    ClippedSGD,
    LossScaled,
    devices,
    scaled_for,
)
from keras_attn.training.resume import Checkpoint
from keras_attn_pipelines.recipes.text_classifier import RECIPE
from keras_attn_pipelines.runs.train import train
from tests.pipelines import labeled_texts
from tests.processes import run_module

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SCALE = 8.0
STOPPED_AT = 3
SHAPES = ((3, 5), (7,), (2, 11))


def optimizers():
    slow = {"slow_layer": "encoder", "slow_rate": 0.5, "slow_from": 1}
    return [
        ClippedAdam(0.1, clip_norm=0.7, weight_decay=0.01, **slow),
        ClippedMuon(0.1, clip_norm=0.7, weight_decay=0.01, **slow),
        ClippedSGD(0.1, clip_norm=0.7, momentum=0.9),
    ]


def variables():
    names = ("encoder", "hidden", "output")
    random = np.random.default_rng(3)
    return [
        keras.Variable(random.normal(size=shape), name=f"{name}_kernel")
        for name, shape in zip(names, SHAPES)
    ]


def gradients(step):
    random = np.random.default_rng(step)
    return [ops.convert_to_tensor(random.normal(size=shape).astype("float32")) for shape in SHAPES]


@pytest.mark.parametrize("place", [0, 1, 2], ids=["adam", "muon", "sgd"])
def test_scaled_gradients_are_clipped_and_applied_as_unscaled_ones(place):
    plain, scaled = optimizers()[place], LossScaled(optimizers()[place], SCALE)
    own, others = variables(), variables()
    for step in range(3):
        plain.apply(gradients(step), own)
        scaled.apply([gradient * SCALE for gradient in gradients(step)], others)
    for variable, other in zip(own, others):
        np.testing.assert_allclose(other.numpy(), variable.numpy(), rtol=1e-5, atol=1e-6)
    assert float(scaled.dynamic_scale) == SCALE


def test_a_step_with_an_overflow_is_skipped_and_the_scale_halves():
    scaled, own = LossScaled(optimizers()[0], SCALE), variables()
    scaled.apply(gradients(0), own)
    before = [variable.numpy() for variable in [*own, *scaled.inner_optimizer.variables]]
    for bad in (np.inf, -np.inf, np.nan):
        spoiled = gradients(1)
        spoiled[1] = spoiled[1] + bad
        scaled.apply(spoiled, own)
    after = [variable.numpy() for variable in [*own, *scaled.inner_optimizer.variables]]
    for array, other in zip(before, after):
        np.testing.assert_array_equal(other, array)
    assert float(scaled.dynamic_scale) == SCALE / 8
    assert int(scaled.iterations) == 4 and int(scaled.inner_optimizer.iterations) == 1


def test_the_scale_doubles_after_a_row_of_good_steps():
    scaled, own = LossScaled(optimizers()[2], SCALE, dynamic_growth_steps=3), variables()
    scales = []
    for step in range(7):
        scaled.apply(gradients(step), own)
        scales.append(float(scaled.dynamic_scale) / SCALE)
    assert scales == [1, 1, 2, 2, 2, 4, 4]


def test_names():
    assert devices.precision_policy("float16") == "mixed_float16"
    optimizer = optimizers()[0]
    assert scaled_for("mixed_bfloat16", optimizer) is optimizer
    scaled = scaled_for("mixed_float16", optimizer)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(scaled))
    assert isinstance(again, LossScaled) and again.inner_optimizer.clip_norm == 0.7


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return labeled_texts.write_table(tmp_path_factory.mktemp("data") / "texts")


def trained(data, out, precision="float16", **values):
    small = {**labeled_texts.TINY, "bigram_buckets": 31, "dropout": 0.1, "lengths": (23,)}
    recipe = RECIPE.replaced({**small, "epochs": 2, "batch_tokens": 230, **values})
    return train(recipe, data, out, precision=precision, verbose=0, checkpoint_seconds=0.0)


@pytest.mark.systems
def test_training_in_float16_is_close_to_that_in_float32(data, tmp_path):
    values = {"dropout": 0.0, "epochs": 1}
    half = trained(data, tmp_path / "half", **values)
    whole = trained(data, tmp_path / "whole", "float32", **values)
    assert half.description["precision"] == "mixed_float16"
    for weight, other in zip(half.model().get_weights(), whole.model().get_weights(), strict=True):
        np.testing.assert_allclose(weight, other, atol=5e-3)


class Stop(Exception):
    """Ends a training in the middle of an epoch."""


@pytest.mark.systems
def test_stopped_and_resumed_is_uninterrupted_with_skipped_steps(data, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "keras_attn_pipelines.runs.prepared.scaled_for",
        lambda policy, optimizer: LossScaled(optimizer, 2.0**30, dynamic_growth_steps=2),
    )
    whole = trained(data, tmp_path / "whole")
    ends, kept = Checkpoint.on_train_batch_end, []

    def stop(callback, batch, logs=None):
        ends(callback, batch, logs)
        optimizer = callback.model.optimizer
        if int(optimizer.iterations) == STOPPED_AT:
            kept.append([variable.numpy() for variable in optimizer.variables])
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_train_batch_end", stop)
        with pytest.raises(Stop):
            trained(data, tmp_path / "stopped")
    restores = Checkpoint.restore

    def restore(checkpoint, model):
        steps = restores(checkpoint, model)
        for variable, saved in zip(model.optimizer.variables, kept[0], strict=True):
            np.testing.assert_array_equal(variable.numpy(), saved)
        optimizer = model.optimizer
        assert steps == STOPPED_AT > int(optimizer.inner_optimizer.iterations)
        assert 1 < float(optimizer.dynamic_scale) < 2.0**30
        return steps

    monkeypatch.setattr(Checkpoint, "restore", restore)
    stopped = trained(data, tmp_path / "stopped")
    for weight, other in zip(
        stopped.model().get_weights(), whole.model().get_weights(), strict=True
    ):
        np.testing.assert_allclose(weight, other, atol=1e-5)


@pytest.mark.systems
def test_an_overflow_of_one_replica_skips_the_step_of_all(tmp_path):
    run_module("tests.training.mirrored_scale", tmp_path / "steps.npz")
    with np.load(tmp_path / "steps.npz") as steps:
        np.testing.assert_allclose(steps["weights"], [[2.0], [2.0], [-1.0]])
        assert steps["scale"].tolist() == [8.0, 4.0, 4.0] and steps["iterations"].tolist() == [
            1,
            2,
            3,
        ]
