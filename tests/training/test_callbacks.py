import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.callbacks import (
    AttentionImages,
    BestModel,
    EpochLog,
    FiniteLoss,
    GenerationMetrics,
)
from keras_attn.whole_file import pending_path

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def best_model(path, monitor, patience=None, best_possible=None):
    callback = BestModel(path, monitor, patience, best_possible)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, use_bias=False)])
    model.stop_training = False  # As `fit` begins.
    callback.set_model(model)
    callback.on_train_begin()
    return callback


def end_epoch(callback, epoch, value, **losses):
    """An epoch after which the weights and the monitored metric are as told."""
    callback.model.layers[0].kernel.assign(np.full((3, 1), epoch, "float32"))
    callback.on_epoch_end(epoch, {callback.monitor: value, **losses})


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
    assert (callback.best, callback.best_epoch) == (values[best], best + 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.keras"]


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


def resumed_from(callback):
    """A callback of another process that goes on from another's state."""
    told = (callback.monitor, callback.patience, callback.best_possible)
    resumed = best_model(callback.path, *told)
    resumed.resumable = True
    resumed.restore(json.loads(json.dumps(callback.state())))
    return resumed


def test_best_model_of_a_resumed_training_does_not_fall_behind(tmp_path):
    path = tmp_path / "model.keras"
    first = best_model(path, "val_exact")
    end_epoch(first, 1, 0.8)
    resumed = resumed_from(first)
    end_epoch(resumed, 2, 0.7)
    assert kept(path) == 1
    end_epoch(resumed, 3, 0.9)
    resumed.saved()
    assert kept(path) == 3


def test_a_better_model_counts_once_the_checkpoint_says_so(tmp_path):
    path = tmp_path / "model.keras"
    first = best_model(path, "val_exact")
    end_epoch(first, 1, 0.8)
    first.resumable, before = True, first.state()
    end_epoch(first, 2, 0.9)
    assert kept(path) == 1 and kept(pending_path(path)) == 2
    assert resumed_from(first).best == 0.9 and kept(path) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    first.restore(first.state())
    end_epoch(first, 3, 1.0)
    with pytest.raises(ValueError, match=r"that was kept at .*model\.keras\. Received: a damaged"):
        first.restore(before)
    path.unlink()
    with pytest.raises(ValueError, match=r"model\.keras\. Received: no such file"):
        first.restore(before)


def test_patience_counts_from_the_best_epoch_and_survives_a_restart(tmp_path):
    callback = best_model(tmp_path / "model.keras", "val_exact")
    callback.patience = 3
    for epoch, value in enumerate([0.1, 0.5, 0.4, 0.5]):
        end_epoch(callback, epoch, value)
        assert not callback.model.stop_training
    resumed = resumed_from(callback)
    end_epoch(resumed, 4, 0.3)
    assert resumed.model.stop_training and resumed.stopped and resumed.best_epoch == 2
    assert resumed_from(resumed).stopped


NAN = math.nan
FALLING = (7.0, 5.0, 3.0, 2.0, 1.0)


@pytest.mark.parametrize("resumed", [False, True], ids=["at once", "resumed after each epoch"])
@pytest.mark.parametrize(
    ("values", "losses", "best_possible", "kept_epoch", "ended", "constant"),
    [
        pytest.param((0, 0, 0, 0), (5, 3, 2, 3), 100, 3, None, True, id="constant"),
        pytest.param((1, 1, 1, 1), FALLING, 100, 4, None, True, id="1 of 100"),
        pytest.param((1, 1, 1, 1), FALLING, None, 1, 3, False, id="at its best"),
        pytest.param((0, 0, 0, 0.2, 0.1, 0.2), (*FALLING, 1), 100, 4, 6, False, id="moves up"),
        pytest.param((3, 3, 3, 2, 2), (5, 2, 3, 1, 1), 100, 2, 4, False, id="moves down"),
        pytest.param((5, 3, 4, 4), FALLING, 0, 2, 4, False, id="an error falls"),
        pytest.param((0, 0, NAN, 0), FALLING, 100, 2, 4, False, id="moves to no number"),
        pytest.param((NAN, 0, 0, 0), FALLING, 100, 2, 4, False, id="was no number"),
        pytest.param((5, 7, 7, 7), FALLING, 100, 2, 4, False, id="moved in the second epoch"),
    ],
)
def test_a_monitor_that_never_moved_selects_nothing_and_ends_nothing(
    values, losses, best_possible, kept_epoch, ended, constant, resumed, tmp_path, capsys
):
    callback, stopped = best_model(tmp_path / "m.keras", "val_bleu", 2, best_possible), []
    callback.resumable = resumed
    for epoch, (value, loss) in enumerate(zip(values, losses)):
        end_epoch(callback, epoch, value, val_loss=loss, loss=0.0)
        stopped += [epoch + 1] if callback.stopped else []
        callback = resumed_from(callback) if resumed else callback
    assert (callback.best_epoch, kept(callback.path)) == (kept_epoch, kept_epoch - 1)
    assert (stopped[0] if stopped else None, callback.constant) == (ended, constant)
    name, value = callback.selected_by
    selected = ("val_loss", losses) if constant else ("val_bleu", values)
    assert (name, value) == (selected[0], selected[1][kept_epoch - 1])
    warned = capsys.readouterr().out.count("warning: val_bleu was")
    assert warned == (len(set(values[:2])) == 1 and values[0] != best_possible and ended != 3)


def test_a_constant_monitor_without_a_loss_on_dev_leaves_the_choice_to_that_of_training(tmp_path):
    callback = best_model(tmp_path / "m.keras", "accuracy")
    for epoch, loss in enumerate((3.0, 1.0, 2.0)):
        end_epoch(callback, epoch, 0.5, loss=loss)
    assert kept(callback.path) == 1 and callback.selected_by == ("loss", 1.0)


def test_a_state_of_an_earlier_version_follows_patience(tmp_path):
    first = best_model(tmp_path / "m.keras", "val_bleu", 2)
    end_epoch(first, 0, 0.0, val_loss=3.0)
    names = ("best", "best_epoch", "digest", "stopped")
    resumed = best_model(first.path, "val_bleu", 2)
    resumed.restore({name: first.state()[name] for name in names})
    for epoch in (1, 2):
        end_epoch(resumed, epoch, 0.0, val_loss=2.0)
    assert resumed.stopped and resumed.best_epoch == 1 and not resumed.constant


def test_the_log_of_epochs_goes_on_whatever_the_file_holds(tmp_path):
    path = tmp_path / "history.csv"
    log = EpochLog(path, {"bleu_signature": "BLEU|tok:zh, char"})
    for epoch in range(2):
        log.on_epoch_end(epoch, {"loss": np.float32(1 / (epoch + 3)), "accuracy": 0.5})
    state = json.loads(json.dumps(log.state()))
    path.write_bytes(b"\0\n\n")
    resumed = EpochLog(path)
    resumed.resumable = True
    resumed.restore(state)
    resumed.on_epoch_end(2, {"loss": 0.25, "val_loss": float("nan")})
    assert len(path.read_text().splitlines()) == 3
    resumed.saved()
    assert path.read_text().splitlines() == [
        "epoch,accuracy,loss,val_loss,bleu_signature",
        '1,0.5,0.3333333432674408,,"BLEU|tok:zh, char"',
        '2,0.5,0.25,,"BLEU|tok:zh, char"',
        "3,,0.25,nan,",
    ]
    resumed.restore(None)
    resumed.on_epoch_end(0, {"loss": 0.5})
    resumed.saved()
    assert path.read_text().splitlines() == ["epoch,loss", "1,0.5"]


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("best", "x"),
            ("best_epoch", None),
            ("constant_epochs", "x"),
            ("digest", 5),
            ("stopped", "x"),
        ),
        *(("loss", 5), ("loss", ["loss"]), ("loss", [1, 2.0])),
    ],
)
def test_a_state_of_other_types_is_refused(name, value, tmp_path):
    best = BestModel(tmp_path / "model.keras", "val_loss")
    best.restore(best.state())
    with pytest.raises((TypeError, ValueError)):
        best.restore({**best.state(), name: value})
    with pytest.raises(TypeError, match="epoch="):
        EpochLog(tmp_path / "log.csv").restore([{"epoch": []}])


def test_standard_errors_are_those_of_a_mean():
    def share_of_cats(texts, references):
        assert all(text == reference for text, reference in zip(texts, references, strict=True))
        return {"cats": texts.count("cat") / len(texts)}

    texts = ["cat", "dog"] * 50
    metrics = GenerationMetrics(keras.Sequential(), [], None, texts, 5, share_of_cats)
    with pytest.raises(RuntimeError, match="Received: no scores yet"):
        metrics.standard_errors()
    metrics.texts = texts
    errors = metrics.standard_errors(samples=400)
    assert errors == {"val_cats": pytest.approx(0.5 / 100**0.5, rel=0.1)}
