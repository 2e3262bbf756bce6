"""Two processes on loopback train as one device does, and end together if one of them dies."""

import json
import signal

import numpy as np
import pytest

from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from tests import workers
from tests.pipelines import toy_language
from tests.pipelines.history import history
from tests.pipelines.test_interrupted import VALUES
from tests.recipes.shared import flags

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

ONE_LINE = r"keras-attn: Expected 2 workers until training ends. Received: no answer from 127.0.0.1"
TRANSLATOR = {
    **toy_language.TINY,
    "epochs": 2,
    "batch_size": 6,
    "batch_tokens": 0,
    "dropout": 0.0,
    "clip_norm": 0.1,
    "learning_rate": 0.01,
    "scheduled_sampling_rate": 0.1,
    "monitor": "val_loss",
}
CAPTIONER = {
    **{key: value for key, value in VALUES.items() if key != "average"},
    "epochs": 2,
    "batch_size": 5,
    "dropout": 0.0,
    "self_critical": 2,
    "monitor": "val_loss",
    "image_size": 32,
}
"""Five pictures a batch, of which two workers have three each, one of them filled in."""


def command(recipe, data, run, values):
    """A worker's arguments of the command line."""
    arguments = ["train", recipe, "--data", data, "--out", run, "--strategy", "multiworker"]
    return [*arguments, "--precision", "float32", *flags(values)]


def train_on_one_device(recipe, data, run, values):
    """The training that workers are compared with."""
    experiment = load_recipe(recipe).replaced(values)
    train(experiment, data, run, recipe, precision="float32", verbose=0)


def check_equal(run, expected, tolerance=1e-4):
    """Two runs have the same history and weights."""
    for row, other in zip(history(run), history(expected), strict=True):
        assert row == pytest.approx(other, abs=tolerance)
    pairs = zip(Run(run).model().get_weights(), Run(expected).model().get_weights(), strict=True)
    for weights, other in pairs:
        np.testing.assert_allclose(weights, other, atol=tolerance)


@pytest.mark.slow
def test_a_worker_is_killed_all_end_and_training_resumes(tmp_path):
    """The killed training ends as one on one device that nobody stopped."""
    data = toy_language.write_folder(tmp_path / "data")
    one, run, printed = (tmp_path / name for name in ("one", "run", "printed"))
    train_on_one_device("translator_transformer", data, one, TRANSLATOR)
    given = command("translator_transformer", data, run, TRANSLATOR)
    module, weights = "tests.pipelines.killed_worker", [tmp_path / f"{n}.npz" for n in range(2)]
    killed = workers.start(
        module, (0, weights[0], *given), (14, weights[1], *given), folder=printed
    )
    (chief_code, chief_end), (other_code, other_end) = workers.ended(killed)
    assert (chief_code, other_code) == (2, -signal.SIGKILL)
    assert chief_end - other_end < 60
    out, error = workers.printed(printed, 0)
    assert error.startswith(ONE_LINE) and error.count("\n") == 1, error
    workers.run(module, *[(0, path, *given) for path in weights], folder=printed)
    out, error = workers.printed(printed, 0)
    assert "resuming at epoch 2, step 1 of 11" in out and not error
    assert "resuming" not in workers.printed(printed, 1)[0]
    check_equal(run, one, 1e-5)
    with np.load(weights[0]) as first, np.load(weights[1]) as second:
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.slow
def test_self_critical_training_with_uneven_batches(tmp_path):
    data = write_scenes(tmp_path / "data", train=13, dev=3, test=2, novel=1)
    one, run = tmp_path / "one", tmp_path / "run"
    train_on_one_device("scenes", data, one, CAPTIONER)
    given = command("scenes", data, run, CAPTIONER)
    workers.run("keras_attn_pipelines", given, given, folder=tmp_path)
    check_equal(run, one)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1], ids=["chief", "other"])
def test_killed_within_an_epoch(victim, tmp_path):
    """With dropout, hard attention and the mean of epochs; the checkpoint is of the step before."""
    data = write_scenes(tmp_path / "data", train=31, dev=3, test=2, novel=1)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    module, values = "tests.pipelines.interrupted", json.dumps(VALUES)
    for run, steps in ((whole, (0,)), (killed, (8, 0))):
        for step in steps:
            given = []
            for index, own_step in enumerate((step, 0) if victim == 0 else (0, step)):
                weights = f"{run}-{index}.npz"
                given.append(("scenes", data, run, own_step, 0, weights, "multiworker", values))
            ends = workers.ended(workers.start(module, *given, folder=tmp_path))
            codes = [code for code, _ in ends]
            if step:
                assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 1
                assert ends[1 - victim][1] - ends[victim][1] < 60
            else:
                assert codes == [0, 0], workers.printed(tmp_path, 0)[1][-3000:]
    assert "resuming at epoch 2, step" in workers.printed(tmp_path, 0)[0]
    check_equal(killed, whole)


@pytest.mark.slow
def test_workers_with_other_settings(tmp_path):
    data = toy_language.write_folder(tmp_path / "data")
    given = [
        command("translator_transformer", data, tmp_path / "run", {**TRANSLATOR, "seed": seed})
        for seed in range(2)
    ]
    ends = workers.ended(workers.start("keras_attn_pipelines", *given, folder=tmp_path / "printed"))
    assert [code for code, _ in ends] == [2, 2]
    for index, received in enumerate(("others on some", "here, other parts")):
        error = workers.printed(tmp_path / "printed", index)[1]
        assert error.count("\n") == 1 and f"as on the chief. Received: {received}" in error
