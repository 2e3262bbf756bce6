import types

import pytest

from keras_attn.training import TrainingProgress


@pytest.fixture
def train(monkeypatch):
    """Trains without a model: what the callback is told, by a clock of the test's own."""
    now = [100.0]
    monkeypatch.setattr(
        "keras_attn.training.training_progress.time.monotonic", lambda: now[0], raising=True
    )

    def fit(callback, start, epochs, steps, seconds=1.0, compiling=0.0, scoring=0.0):
        model = types.SimpleNamespace(optimizer=types.SimpleNamespace(iterations=start))
        callback.set_model(model)
        for epoch in epochs:
            callback.on_epoch_begin(epoch)
            for batch in range(steps):
                now[0] += seconds + compiling
                compiling = 0.0
                callback.on_train_batch_end(batch, {"loss": 2.5})
                model.optimizer.iterations += 1
            now[0] += scoring
            callback.on_epoch_end(epoch, {"loss": 2.25, "val_loss": 3.0, "val_bleu": 12.34567})

    return fit


def test_time_left_leaves_out_compiling_and_the_first_scoring(train, capsys):
    callback = TrainingProgress(13, 10, ["val_bleu"])
    train(callback, 0, [0], 10, compiling=3000.0, scoring=500.0)
    train(callback, 10, [1], 10, scoring=5.0)
    assert capsys.readouterr().out.splitlines() == [
        "epoch 1 of 13: compiling the training step",
        "epoch 1 of 13: 58 min, loss 2.25, val_loss 3, val_bleu 12.35, about 2 min left, "
        "plus scoring",
        "epoch 2 of 13: 15 s, loss 2.25, val_loss 3, val_bleu 12.35, about 3 min left",
    ]


def test_without_a_terminal_a_long_epoch_says_a_line_a_minute(train, capsys):
    callback = TrainingProgress(3, 8)
    train(callback, 0, [0], 8, seconds=25.0, compiling=10.0)
    train(callback, 8, [1], 8, seconds=25.0, scoring=60.0)
    train(callback, 16, [2], 8, seconds=25.0, scoring=60.0)
    assert capsys.readouterr().out.splitlines() == [
        "epoch 1 of 3: compiling the training step",
        "epoch 1 of 3: step 4 of 8, loss 2.5, about 8 min left, plus scoring",
        "epoch 1 of 3: step 7 of 8, loss 2.5, about 7 min left, plus scoring",
        "epoch 1 of 3: 4 min, loss 2.25, val_loss 3, about 7 min left, plus scoring",
        "epoch 2 of 3: step 3 of 8, loss 2.5, about 5 min left, plus scoring",
        "epoch 2 of 3: step 6 of 8, loss 2.5, about 4 min left, plus scoring",
        "epoch 2 of 3: 4 min, loss 2.25, val_loss 3, about 4 min left",
        "epoch 3 of 3: step 3 of 8, loss 2.5, about 3 min left",
        "epoch 3 of 3: step 6 of 8, loss 2.5, about 2 min left",
        "epoch 3 of 3: 4 min, loss 2.25, val_loss 3",
    ]


def test_a_bar_goes_on_where_the_epoch_does(train, capsys):
    callback = TrainingProgress(3, 10, bar=True)
    train(callback, 14, [1], 2)
    train(callback, 16, [1], 4)
    out = capsys.readouterr().out
    states = [line.split(" - ")[0].strip() for line in out.split("\r")[1:]]
    assert states == [
        "5/10 [===============>..............] 1 s",
        "6/10 [==================>...........] 4 s left",
        "7/10 [=====================>........] 3 s left",
        "8/10 [========================>.....] 2 s left",
        "9/10 [===========================>..] 1 s left",
        "10/10 [==============================] 6 s",
    ]
    assert out.splitlines()[-1].startswith("epoch 2 of 3: 6 s, loss 2.25, val_loss 3, about 10 s")
    assert "\x1b" not in out


def test_time_left_leaves_out_steps_that_compile_other_shapes(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(
        "keras_attn.training.training_progress.time.monotonic", lambda: now[0], raising=True
    )
    callback = TrainingProgress(13, 10)
    model = types.SimpleNamespace(optimizer=types.SimpleNamespace(iterations=0))
    callback.set_model(model)
    callback.on_epoch_begin(0)
    for batch, seconds in enumerate((400.0, 700.0, 1.0, 1.0, 500.0, 1.0, 1.0, 1.0, 1.0, 1.0)):
        now[0] += seconds
        callback.on_train_batch_end(batch)
    callback.on_epoch_end(0)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "epoch 1 of 13: 27 min, about 2 min left, plus scoring"
    )
