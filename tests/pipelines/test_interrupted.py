"""A training that was killed goes on where it was and ends with the same weights."""

import json
import resource
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_attn.training.resume import Checkpoint
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.runs.run import Run
from tests.pipelines.history import history

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


VALUES = {
    "batch_size": 6,
    "hidden_dim": 7,
    "embedding_dim": 3,
    "attention_dim": 5,
    "vocabulary_size": 300,
    "lengths": (6, 13, 60),
    "epochs": 3,
    "dropout": 0.3,
    "context": "hard",
    "learning_rate": 0.01,
    "monitor": "val_loss",
    "average": 2,
}


def train(data, run, step, seconds, weights, strategy="one"):
    """Return code and output of a training killed at a step of its own (0: not at all)."""
    command = [sys.executable, "-m", "tests.pipelines.interrupted", "scenes", str(data), str(run)]
    command += [str(step), str(seconds), str(weights), strategy, json.dumps(VALUES)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with data, a training of it that nothing stopped, and its last weights."""
    folder = tmp_path_factory.mktemp("whole")
    data = write_scenes(folder / "data", train=31, dev=3, test=2, novel=1)
    code, printed = train(data, folder / "run", 0, 60, folder / "weights.npz")
    assert code == 0, printed
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((1, 5), id="before the first checkpoint and within an epoch"),
        pytest.param((8, 3), id="between epochs and within one"),
    ],
)
def test_killed_at_steps_of_their_processes(tmp_path, whole, steps):
    """A process killed at a step has kept the ones before: the checkpoint is the last callback."""
    killed, weights = tmp_path / "killed", tmp_path / "killed.npz"
    for step in steps:
        assert train(whole / "data", killed, step, 0, weights)[0] == -signal.SIGKILL
        assert (killed / "checkpoint.npz").exists() == (step > 1)
    code, printed = train(whole / "data", killed, 0, 60, weights)
    assert code == 0 and "resuming at epoch" in printed, printed
    with np.load(whole / "weights.npz") as expected, np.load(weights) as arrays:
        assert expected.files == arrays.files
        for name in expected.files:
            np.testing.assert_allclose(arrays[name], expected[name], atol=2e-4)
    rows = [history(run) for run in (whole / "run", killed)]
    assert [row["epoch"] for row in rows[0]] == [1, 2, 3]
    for expected, row in zip(*rows, strict=True):
        assert row == pytest.approx(expected, abs=1e-4)
    assert Run(killed).description["ended"]
    for expected, arrays in zip(
        *(Run(value).model().get_weights() for value in (whole / "run", killed))
    ):
        np.testing.assert_allclose(arrays, expected, atol=2e-4)
    assert not list(killed.glob("mean*"))
    assert not (killed / "checkpoint.npz").exists()


@pytest.mark.slow
def test_killed_on_two_devices(tmp_path):
    data = write_scenes(tmp_path / "data", train=31, dev=3, test=2, novel=1)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for run, steps in ((whole, (0,)), (killed, (7, 0))):
        for step in steps:
            code, printed = train(data, run, step, 0, f"{run}.npz", "mirrored")
            assert code == (-signal.SIGKILL if step else 0), printed
    assert "resuming at epoch" in printed
    with np.load(f"{whole}.npz") as expected, np.load(f"{killed}.npz") as arrays:
        for name in expected.files:
            np.testing.assert_allclose(arrays[name], expected[name], atol=2e-4)
    for expected, row in zip(history(whole), history(killed), strict=True):
        assert row == pytest.approx(expected, abs=1e-4)


def compiled(units=3):
    model = keras.Sequential(
        [keras.Input((5,)), keras.layers.Dense(units), keras.layers.Dropout(0.5)]
    )
    model.compile("adam", "mse")
    return model


def fitted(path):
    model = compiled()
    checkpoint = Checkpoint(path, 0.0)
    model.fit(np.ones((7, 5)), np.ones((7, 3)), batch_size=1, verbose=0, callbacks=[checkpoint])
    return model, checkpoint


def test_checkpoint_brings_everything_back(tmp_path):
    path = tmp_path / "checkpoint.npz"
    model, _ = fitted(path)
    again = compiled()
    assert Checkpoint(path).restore(again) == 7
    for variable, other in zip(model.variables, again.variables):
        np.testing.assert_array_equal(variable, other)
    for variable, other in zip(model.optimizer.variables, again.optimizer.variables):
        np.testing.assert_array_equal(variable, other)
    assert Checkpoint(tmp_path / "none.npz").restore(again) == 0


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path):
    path = tmp_path / "checkpoint.npz"
    model, checkpoint = fitted(path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match=r"Expected to write a checkpoint of 0\.0 MB.*untouched"):
            checkpoint.save(model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before and [entry.name for entry in tmp_path.iterdir()] == [
        path.name
    ]


def test_checkpoints_that_are_none(tmp_path):
    path = tmp_path / "checkpoint.npz"
    fitted(path)
    with pytest.raises(ValueError, match=r"of this model and its callbacks\. Received: one of"):
        Checkpoint(path).restore(compiled(units=2))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"Expected a checkpoint at .*a damaged file"):
        Checkpoint(path).restore(compiled())
