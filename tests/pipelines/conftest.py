"""Tests of pipelines load a SavedModel once, draw few pictures, and leave METEOR out."""

import importlib
import shutil
from types import SimpleNamespace
from unittest import mock

import pytest

from keras_attn.saved import loading
from keras_attn.saved.versions import version_folder

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


@pytest.fixture(autouse=True)
def _no_pictures_of_answers():
    """Trainings that a module shares draw their answers; to draw them takes a quarter of a tiny
    training, so that those of single tests do not."""
    with mock.patch("keras_attn_pipelines.runs.fitting.answer_pictures", return_value=[]):
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
