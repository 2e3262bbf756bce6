import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.callbacks import AttentionImages, BestModel, FiniteLoss, TimeLeft

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def best_model(path, monitor):
    callback = BestModel(path, monitor)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, use_bias=False)])
    model.stop_training = False  # As `fit` begins.
    callback.set_model(model)
    callback.on_train_begin()
    return callback


def end_epoch(callback, epoch, value):
    """An epoch after which the weights and the monitored metric are as told."""
    callback.model.layers[0].kernel.assign(np.full((3, 1), epoch, "float32"))
    callback.on_epoch_end(epoch, {callback.monitor: value})


def kept(path):
    kernel = keras.saving.load_model(path).layers[0].kernel
    return float(keras.ops.convert_to_numpy(kernel)[0, 0])


@pytest.mark.parametrize(
    ("monitor", "values", "best"),
    [("val_cider_d", (0.2, 0.7, 0.5), 1), ("val_loss", (3.0, 2.0, 1.0), 2)],
)
def test_best_model_keeps_the_best_epoch(tmp_path, monitor, values, best):
    path = tmp_path / "model.keras"
    callback = best_model(path, monitor)
    for epoch, value in enumerate(values):
        end_epoch(callback, epoch, value)
    assert kept(path) == best
    record = json.loads((tmp_path / "model.best.json").read_text())
    assert record == {monitor: values[best], "epoch": best + 1}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model.best.json", "model.keras"]


def test_best_model_never_takes_a_metric_that_is_no_number(tmp_path):
    callback = best_model(tmp_path / "model.keras", "val_loss")
    for epoch, value in enumerate([0.5, float("nan"), 0.9]):
        end_epoch(callback, epoch, value)
    assert kept(tmp_path / "model.keras") == 0


def test_a_loss_of_dev_that_is_no_number_ends_training_before_anything_is_kept(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = (np.ones((5, 3)), np.ones((5, 1)))
    best = BestModel(tmp_path / "model.keras", "loss")
    wrong = (np.full((2, 3), np.inf), np.ones((2, 1)))
    message = r"Received: val_loss=(nan|inf) at step 1, in epoch 1"
    with pytest.raises(ValueError, match=message):
        model.fit(*data, validation_data=wrong, callbacks=[FiniteLoss(), best], verbose=0)
    assert not list(tmp_path.iterdir())
    assert len(model.fit(*data, callbacks=[FiniteLoss(), best], verbose=0).epoch) == 1


def test_best_model_of_a_resumed_training_does_not_fall_behind(tmp_path):
    path = tmp_path / "model.keras"
    end_epoch(best_model(path, "val_exact"), 1, 0.8)
    resumed = best_model(path, "val_exact")
    end_epoch(resumed, 2, 0.7)
    assert kept(path) == 1
    end_epoch(resumed, 3, 0.9)
    assert kept(path) == 3


def test_patience_counts_from_the_best_epoch_and_survives_a_restart(tmp_path, capsys):
    def patient():
        callback = best_model(tmp_path / "model.keras", "val_exact")
        callback.patience = 3
        return callback

    callback = patient()
    for epoch, value in enumerate([0.1, 0.5, 0.4, 0.5]):
        end_epoch(callback, epoch, value)
        assert not callback.model.stop_training
    assert not capsys.readouterr().out
    resumed = patient()
    end_epoch(resumed, 4, 0.3)
    assert resumed.model.stop_training
    assert "val_exact was best in epoch 2: training ends" in capsys.readouterr().out


def test_best_model_names_the_metrics_there_are(tmp_path):
    callback = BestModel(tmp_path / "model.keras", "val_bleu")
    with pytest.raises(ValueError, match=r"Expected a monitor of \['val_loss'\].*'val_bleu'"):
        callback.on_epoch_end(0, {"val_loss": 1.0})


def test_attention_images_are_in_the_log_of_each_epoch(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 3), np.uint8)
    callback = AttentionImages(lambda: pictures, tmp_path)
    callback.on_epoch_end(0)
    callback.on_epoch_end(1)
    actual = {}
    for path in sorted(tmp_path.glob("events*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                actual[event.step] = value.tensor.string_val[2:]
    assert sorted(actual) == [0, 1]
    for encoded in actual.values():
        shown = [tf.io.decode_png(each_value).numpy() for each_value in encoded]
        np.testing.assert_array_equal(shown, pictures)


def test_time_left_counts_the_epochs_of_this_training(monkeypatch, capsys):
    clock = iter([100.0, 130.0, 160.0, 190.0])
    monkeypatch.setattr("keras_attn.training.callbacks.time.monotonic", lambda: next(clock))
    callback = TimeLeft(13)
    callback.on_train_begin()
    for epoch in (9, 10, 11):
        callback.on_epoch_end(epoch)
    lines = capsys.readouterr().out.split("\n")
    assert lines[1] == "epoch 10 of 13 done, about 2 min left"
    assert lines[3] == "epoch 11 of 13 done, about 60 s left"
    assert lines[5] == "epoch 12 of 13 done, about 30 s left"
