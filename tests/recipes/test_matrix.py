"""The matrix of recipes: each line of the registry does everything that a recipe must do."""

import itertools
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR
from keras_attn.serving.export import unservable_ops
from keras_attn.serving.requests import joined
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.run import Run
from tests import workers
from tests.pipelines.history import history
from tests.processes import run_module
from tests.recipes.registry import ROWS

pytestmark = pytest.mark.systems

TRAINED = [
    pytest.param(row, id=row.name, marks=[pytest.mark.slow] if row.slow else []) for row in ROWS
]
STARTING = [param for param in TRAINED if not param.values[0].start]
NOISE = ("dropout", "vision_dropout", "memory_noise", "word_dropout")


@pytest.fixture(scope="module", params=TRAINED)
def row(request):
    return request.param


@pytest.fixture(scope="module")
def run(row, recipes):
    return recipes.run(row.name)


@pytest.fixture(scope="module")
def model(row, recipes):
    return recipes.model(row.name)


def test_training_leaves_a_run(row, run):
    rows = history(run.folder)
    experiment = run.experiment()
    assert [line["epoch"] for line in rows] == [*range(1, row.values["epochs"] + 1)]
    numbers = [value for line in rows for value in line.values() if not isinstance(value, str)]
    assert np.all(np.isfinite(numbers))
    spec = experiment.task.spec
    assert {f"val_{name}" for name in ("loss", *spec.monitors)} <= set(rows[0])
    for key, value in row.values.items():
        assert experiment.values()[key] == value
    assert run.description["ended"] and run.description["records"]["train"]


def first_requests(run, data, count=3):
    """What the service is asked about the first few records of dev, by input."""
    experiment = run.experiment()
    requests = [
        experiment.work.request(record).inputs
        for record in experiment.source.split(data, "dev")[:count]
    ]
    return {key: [request[key] for request in requests] for key in requests[0]}


def test_exported_answers_as_in_python_and_a_bad_request_harms_no_other(row, run, model, recipes):
    service = run.service(n_best=row.n_best)
    assert not unservable_ops(model / "1")
    signatures = tf.saved_model.load(str(model / "1")).signatures
    requests = first_requests(run, recipes.data(row.name))
    function, inputs = service.signatures()["serving_default"]
    expected = function(*(tf.constant(joined(requests[spec.name])) for spec in inputs))
    exported = signatures["serving_default"](
        **{key: tf.constant(joined(values)) for key, values in requests.items()}
    )
    assert set(exported) == set(expected)
    spoiled = {key: [values[0], row.bad, *values[1:]] for key, values in requests.items()}
    beside = signatures["serving_default"](
        **{key: tf.constant(joined(values)) for key, values in spoiled.items()}
    )
    errors = beside[ERROR].numpy()
    assert errors[1] and not any(np.delete(errors, 1))
    for key, value in exported.items():
        for other in (expected[key].numpy(), np.delete(beside[key].numpy(), 1, axis=0)):
            if value.dtype == tf.string:
                np.testing.assert_array_equal(other, value.numpy())
            else:
                np.testing.assert_allclose(other, value.numpy(), atol=2e-5)


@pytest.mark.parametrize("row", STARTING, indirect=True)
def test_a_step_has_few_static_shapes_and_compiles(row, recipes):
    """XLA lowers the whole training step, for every op of which it needs a kernel."""
    experiment = load_recipe(row.name).replaced(row.values)
    ready = prepare(experiment, recipes.data(row.name))
    model, data = ready.compile(ready.build()).model, ready.data
    batches = list(data.training(0).take(2 * data.steps))
    structures = {
        str(tf.nest.map_structure(lambda tensor: (tuple(tensor.shape), tensor.dtype.name), batch))
        for batch in batches
    }
    assert len(structures) <= len(experiment.values().get("lengths", (1,)))
    model._symbolic_build(data_batch=batches[0])
    step = tf.function(model.train_step, jit_compile=True, reduce_retracing=False)
    lowered = step.experimental_get_compiler_ir(batches[0])(stage="hlo")
    assert "ENTRY" in lowered


def interrupted(row, data, run, step, weights, strategy="one", backend="tensorflow"):
    """Return code and output of a training killed at a step of its own (0: not at all)."""
    values = {**row.values, "average": 2}
    command = [sys.executable, "-m", "tests.pipelines.interrupted", row.name, str(data), str(run)]
    command += [str(step), "0", str(weights), strategy, json.dumps(values)]
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("row", STARTING, indirect=True)
def test_killed_trainings_end_as_others_do(row, recipes, tmp_path):
    data, whole, killed = recipes.data(row.name), tmp_path / "whole", tmp_path / "killed"
    assert interrupted(row, data, whole, 0, f"{whole}.npz")[0] == 0
    assert interrupted(row, data, killed, 3, f"{killed}.npz")[0] == -signal.SIGKILL
    code, printed = interrupted(row, data, killed, 0, f"{killed}.npz")
    assert code == 0 and "resuming at epoch" in printed, printed
    for expected, weights in zip(
        *(Run(run).model().get_weights() for run in (whole, killed)), strict=True
    ):
        np.testing.assert_allclose(weights, expected, atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("row", STARTING, indirect=True)
def test_two_devices_train_as_one(row, recipes, tmp_path):
    values, acting = acts(row)
    arguments, weights = (row.name, recipes.data(row.name), json.dumps(values)), []
    for strategy in ("one", "mirrored"):
        printed = run_module("tests.recipes.on_devices", *arguments, tmp_path / strategy, strategy)
        assert all(line in printed for line in acting), printed
        weights.append(Run(tmp_path / strategy).model().get_weights())
    for expected, other in zip(*weights, strict=True):
        np.testing.assert_allclose(other, expected, atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("row", STARTING, indirect=True)
def test_two_workers_train_as_one_device(row, recipes, tmp_path):
    values, acting = acts(row)
    arguments = (row.name, recipes.data(row.name), json.dumps(values))
    printed = run_module("tests.recipes.on_devices", *arguments, tmp_path / "one", "one")
    given = (*arguments, tmp_path / "multiworker", "multiworker")
    workers.run("tests.recipes.on_devices", given, given, folder=tmp_path / "printed")
    for text in (printed, workers.printed(tmp_path / "printed", 0)[0]):
        assert all(line in text for line in acting), text
    weights, histories = [], []
    for name in ("one", "multiworker"):
        weights.append(Run(tmp_path / name).model().get_weights())
        histories.append(history(tmp_path / name))
    for expected, other in zip(*weights, strict=True):
        np.testing.assert_allclose(other, expected, atol=2e-4)
    for expected, other in zip(*histories, strict=True):
        assert other == pytest.approx(expected, abs=1e-3)


def acts(row):
    """Values with which everything that changes a recipe's model on the way does so within three
    epochs, and what a training then prints."""
    known, values = load_recipe(row.name).values(), {"epochs": 3, "average": 2}
    printed = ["mean of the last 2 epochs"]
    if "unfreeze_step" in known:
        values |= {"fine_tune": True, "unfreeze_step": 4}
        printed.append("training the encoder too, from step 5 on")
    if known.get("linear_start"):
        printed.append("linear start: ends after epoch 1")
    return {**row.values, **even(row), **values}, printed


def even(row):
    """Values without dropout or noise, and batches that two devices share evenly."""
    known = load_recipe(row.name).values()
    values = {key: 0.0 for key in NOISE if key in known}
    if "batch_size" in row.values:
        return {**values, "batch_size": 6}
    pairs = [row.values[key] for key in ("lengths", "source_lengths") if key in row.values]
    longest = np.max(pairs, axis=0)
    budgets = itertools.count(row.values["batch_tokens"])
    fits = (budget for budget in budgets if np.all(budget // longest % 2 == 0))
    return {**values, "batch_tokens": next(budget for budget in fits if budget >= 2 * longest[-1])}
