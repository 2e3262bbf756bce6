"""Tests of pipelines load a SavedModel once, draw few pictures, and leave METEOR out."""

import importlib
import shutil
from types import SimpleNamespace
from unittest import mock

import pytest

from keras_attn.saved import loading
from keras_attn.saved.versions import version_folder
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures

# The package has the function of this name.
METRICS = importlib.import_module("keras_attn.evaluation.caption_metrics")


@pytest.fixture(scope="module", autouse=True)
def _loaded_once():
    load, loaded = loading.load, {}

    def load_once(folder):
        version = version_folder(folder)
        if version not in loaded:
            loaded[version] = load(folder)
        return loaded[version]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load", load_once)
        yield


@pytest.fixture(scope="module", autouse=True)
def _pictures_of_one_training():
    """A module's first training draws its answers, which takes a quarter of a tiny training; the
    others do not."""
    made = []

    def first(*arguments):
        made.append(None if made else answer_pictures(*arguments))
        return made[-1] or []

    with mock.patch("keras_attn_pipelines.runs.fitting.answer_pictures", first):
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_meteor():
    """METEOR takes five seconds to start; a test that wants it asks for `meteor`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(METRICS, "shutil", SimpleNamespace(which=lambda name: None))
        yield


@pytest.fixture
def meteor(monkeypatch):
    """METEOR where Java is present, and whether it is."""
    monkeypatch.setattr(METRICS, "shutil", shutil)
    return shutil.which("java") is not None
