"""Averages of weights: those of a plain mean, also where training was killed."""

import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_attn.training.averaging import AverageModel, average_models, average_weights
from tests.training import interrupted_averaging

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def compiled():
    keras.utils.set_random_seed(5)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    return model


class Recorder(keras.callbacks.Callback):
    """The weights at the end of each step, and logs of one's own for each epoch."""

    def __init__(self, values=None):
        super().__init__()
        self.steps, self.values = [], values

    def on_train_batch_end(self, batch, logs=None):
        self.steps.append(self.model.get_weights())

    def on_epoch_end(self, epoch, logs=None):
        if self.values:
            logs["val_score"] = self.values[epoch]


def train(path, epochs=4, values=None, **options):
    """Trains epochs of 3 steps; returns the model and its weights after each step."""
    recorder, model = Recorder(values), compiled()
    random = np.random.default_rng(1)
    data = random.normal(size=(3, 3)), random.normal(size=(3, 2))
    average = AverageModel(path, **options)
    model.fit(*data, batch_size=1, epochs=epochs, verbose=0, callbacks=[recorder, average])
    return model, recorder.steps


def saved(path):
    return keras.saving.load_model(path, compile=False).get_weights()


def check_mean(actual, steps, chosen):
    for place, array in enumerate(actual):
        expected = np.mean([np.float64(steps[step - 1][place]) for step in chosen], axis=0)
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({"count": 3}, (6, 9, 12)),
        ({"count": 7}, (3, 6, 9, 12)),
        ({"count": 2, "every": 5}, (5, 10)),
        ({"count": 2, "monitor": "val_score", "values": (0.5, 0.9, float("nan"), 0.7)}, (6, 12)),
        ({"count": 1, "monitor": "val_score", "values": (0.5, 0.5, 0.2, 0.3)}, (6,)),
    ],
)
def test_the_file_holds_the_mean(options, chosen, tmp_path):
    model, steps = train(tmp_path / "average.keras", **options)
    check_mean(saved(tmp_path / "average.keras"), steps, chosen)
    for weight, last in zip(model.get_weights(), steps[-1]):
        np.testing.assert_array_equal(weight, last)
    names = sorted(path.name for path in (tmp_path / "average-snapshots").glob("*.npz"))
    assert names == [f"{step:09}.npz" for step in chosen]


def test_a_loss_is_best_where_it_is_least(tmp_path):
    callback = AverageModel(tmp_path / "average.keras", 1, monitor="val_loss")
    callback.set_model(compiled())
    for epoch, loss in enumerate((3.0, 2.0, 4.0)):
        callback.model.optimizer.iterations.assign(epoch)
        callback.model.layers[0].bias.assign([epoch, epoch])
        callback.on_epoch_end(epoch, {"val_loss": loss})
    assert saved(tmp_path / "average.keras")[1].tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"monitor of \['loss'\].*monitor='val_loss'"):
        callback.on_epoch_end(3, {"loss": 1.0})


@pytest.mark.slow
@pytest.mark.parametrize("every", [0, 4])
def test_killed_training_has_the_same_average(every, tmp_path):
    step = int(np.random.default_rng().integers(6, 20))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    interrupted_averaging.main(whole, 0, every)
    for kill in (step, 0):
        program = [sys.executable, "-m", "tests.training.interrupted_averaging"]
        command = [*program, str(killed), str(kill), str(every)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == (-signal.SIGKILL if kill else 0), done.stderr[-2000:]
    actual, expected = (saved(folder / "average.keras") for folder in (killed, whole))
    for value, other in zip(actual, expected):
        np.testing.assert_allclose(value, other, rtol=1e-5, err_msg=f"killed at step {step}")


def test_a_resumed_training_has_the_snapshots_of_its_state(tmp_path):
    callback = AverageModel(tmp_path / "average.keras", 2)
    callback.set_model(compiled())
    callback.resumable, states = True, []
    for step in (3, 6, 9):
        callback.model.optimizer.iterations.assign(step)
        callback.on_epoch_end(step // 3)
        states.append(callback.state())
    files = sorted(path.stem for path in callback.folder.glob("*.npz"))
    assert files == ["000000003", "000000006", "000000009"]
    callback.restore(states[1])
    assert [step for step, _ in callback.snapshots] == [3, 6]
    assert sorted(path.stem for path in callback.folder.glob("*.npz")) == files[:2]
    with pytest.raises(ValueError, match=r"Expected a snapshot at .*000000009\.npz"):
        callback.restore(states[2])
    (callback.folder / "000000006.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"000000006\.npz\. Received: a damaged file"):
        callback.restore(states[1])
    callback.clear()
    assert not callback.folder.exists()


def test_a_damaged_or_foreign_snapshot_is_named(tmp_path):
    callback = AverageModel(tmp_path / "average.keras")
    callback.set_model(compiled())
    callback.model.optimizer.iterations.assign(3)
    callback.on_epoch_end(0)
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(7)])
    with pytest.raises(ValueError, match=r"snapshot of this model at .*000000003\.npz"):
        callback.write(other)
    (callback.folder / "000000003.npz").write_bytes(b"PK but no archive")
    with pytest.raises(ValueError, match=r"Expected a snapshot at .*damaged"):
        callback.write(compiled())


def test_snapshots_of_an_earlier_training_do_not_count(tmp_path):
    train(tmp_path / "average.keras", epochs=3, count=3)
    _, steps = train(tmp_path / "average.keras", epochs=1, count=3)
    check_mean(saved(tmp_path / "average.keras"), steps, (3,))


def test_a_folder_of_the_user_is_no_place_for_snapshots(tmp_path):
    mine = tmp_path / "mine" / "000000001.npz"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    callback = AverageModel(tmp_path / "average.keras", folder=mine.parent)
    callback.set_model(compiled())
    callback.on_train_begin()
    with pytest.raises(ValueError, match=r"one that keras-attn made\. Received: .*mine"):
        callback.on_epoch_end(0)
    callback.clear()
    assert [path.read_bytes() for path in mine.parent.iterdir()] == [b"mine"]


def test_average_models(tmp_path):
    models, paths = [compiled() for _ in range(3)], []
    for place, model in enumerate(models):
        model.set_weights([weight + place**2 for weight in model.get_weights()])
        paths.append(tmp_path / f"{place}.keras")
        model.save(paths[-1])
    made = average_models(paths, tmp_path / "mean.keras")
    check_mean(
        saved(tmp_path / "mean.keras"),
        [each_model.get_weights() for each_model in models],
        (1, 2, 3),
    )
    check_mean(made.get_weights(), [each_model.get_weights() for each_model in models], (1, 2, 3))


@pytest.mark.parametrize("value", [np.float16([60000]), np.float32([3e38])])
def test_sums_do_not_overflow(value):
    """A memory network's lowest loss is 3e38 until there is one."""
    means = average_weights([[value]] * 3)
    assert means[0].dtype == np.float32 and means[0] == value


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="Received: count=0"):
        AverageModel(tmp_path, 0)
    with pytest.raises(ValueError, match="every=0"):
        AverageModel(tmp_path, every=0)
    with pytest.raises(ValueError, match="a path or a folder"):
        AverageModel(None)
    with pytest.raises(ValueError, match="every=5, monitor='val_loss'"):
        AverageModel(tmp_path, every=5, monitor="val_loss")
    with pytest.raises(ValueError, match=r"one model or more\. Received: none"):
        average_weights([])
    with pytest.raises(ValueError, match=r"models of one shape\. Received: model 1"):
        average_weights([[np.zeros(3)], [np.zeros(5)]])
