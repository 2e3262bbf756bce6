"""Callbacks on several workers: those that change the model run on all, with the chief's logs."""

import importlib
import pkgutil
from types import SimpleNamespace

import keras
import pytest

import keras_attn
import keras_attn_pipelines
from keras_attn.training.callbacks import FiniteLoss
from keras_attn.training.linear_start import LinearStart
from keras_attn.training.worker_callbacks import BroadcastLogs, select_callbacks


def worker(is_chief):
    """A worker among others, which the chief tells a loss of 3."""
    return SimpleNamespace(cluster="two", is_chief=is_chief, told=lambda value: {"val_loss": 3.0})


def own_callbacks():
    """The classes of callbacks in both packages."""
    for package in (keras_attn, keras_attn_pipelines):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__"):
                continue
            for value in vars(importlib.import_module(module.name)).values():
                is_one = isinstance(value, type) and issubclass(value, keras.callbacks.Callback)
                if is_one and value.__module__ == module.name:
                    yield value


def test_every_callback_says_whether_it_changes_the_model():
    declared = {value.__name__: getattr(value, "changes_model", None) for value in own_callbacks()}
    assert len(declared) > 10
    assert {name for name, changes in declared.items() if changes} == {"LinearStart"}
    assert None not in declared.values()


def test_the_chief_runs_all_and_another_worker_what_changes_the_model():
    class Changes(keras.callbacks.Callback):
        changes_model = True

    callbacks = [Changes(), FiniteLoss()]
    assert select_callbacks(callbacks, worker(is_chief=True)) == callbacks
    assert select_callbacks(callbacks, worker(is_chief=False)) == callbacks[:1]
    for is_chief in (True, False):
        with pytest.raises(ValueError, match=r"several workers\. Received: History, which has"):
            select_callbacks([*callbacks, keras.callbacks.History()], worker(is_chief))
    assert LinearStart.changes_model


def test_logs_become_the_chiefs():
    logs = {"val_loss": 5.0, "other": 1.0}
    BroadcastLogs(worker(is_chief=False)).on_epoch_end(0, logs)
    assert logs == {"val_loss": 3.0}
