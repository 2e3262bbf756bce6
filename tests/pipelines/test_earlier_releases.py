"""Runs and SavedModels of every release load, answer, resume, export and evaluate in this one.

The archives are made by `tests.golden.make_release`, once for each release.
"""

import json
import re
import tarfile

import numpy as np
import pytest

from keras_attn.saved.loading import load
from keras_attn_pipelines.runs.evaluate import evaluate, evaluate_saved
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.runs.warm_start import WarmStart
from tests.golden.make_release import MODELS, OPTIONS, RELEASES, plain

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

ARCHIVES = sorted(RELEASES.glob("*/*.tar.xz"))


@pytest.fixture(
    scope="module", params=ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem[:-4]}"
)
def release(request, tmp_path_factory):
    """An unpacked archive."""
    folder = tmp_path_factory.mktemp("release")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def expected(release):
    return json.loads((release / "answers.json").read_text(encoding="utf-8"))


def check_answers(saved, expected):
    asked = [text.encode() for text in expected["requests"]["source"]]
    outputs = saved.outputs("serving_default", {"source": asked})
    assert set(outputs) == set(expected["answers"])
    for name, values in expected["answers"].items():
        received = plain(outputs[name])
        if isinstance(np.ravel(values)[0], str):
            assert received == values
        else:
            np.testing.assert_allclose(received, values, atol=1e-4)


def check_scores(evaluation, expected):
    assert evaluation.scores == pytest.approx(expected["scores"], abs=1e-4)


def test_there_are_archives_of_every_kind():
    assert {path.name for path in ARCHIVES} == {f"{recipe}.tar.xz" for recipe in MODELS}
    assert all(path.stat().st_size < 150_000 for path in ARCHIVES)


def test_the_saved_model_answers_as_then(release, expected):
    saved = load(release / "saved_model")
    check_answers(saved, expected)
    predictions = saved.predict(expected["requests"]["source"])
    texts = expected["answers"][saved.answered[0]]
    assert [prediction.text for prediction in predictions] == [best for best, *_ in texts]


def test_the_run_exports_the_same_answers_as_the_next_version(release, expected):
    version = export(Run(release / "finished"), release / "saved_model")
    assert version.name == "2"
    check_answers(load(version), expected)


def test_both_evaluate_as_then(release, expected):
    check_scores(evaluate(Run(release / "finished"), release / "data"), expected)
    check_scores(evaluate_saved(release / "saved_model" / "1", release / "data"), expected)


def test_training_ends_as_then(release):
    """The stopped run resumes within its last epoch; the finished one says that it has ended."""
    finished = Run(release / "finished")
    experiment, recipe = finished.experiment(), finished.description["recipe"]
    with pytest.raises(ValueError, match=re.escape("whose training has ended; to train on")):
        train(experiment, release / "data", finished.folder, recipe, **OPTIONS)
    stopped = train(experiment, release / "data", release / "stopped", recipe, **OPTIONS)
    assert (stopped.folder / "history.csv").read_text().count("\n") == experiment.fit.epochs + 1
    kept, again = finished.description["kept"], stopped.description["kept"]
    assert kept["epoch"] == again["epoch"]
    assert kept["value"] == pytest.approx(again["value"], abs=1e-4)
    for other, weight in zip(
        stopped.model().get_weights(), finished.model().get_weights(), strict=True
    ):
        np.testing.assert_allclose(other, weight, atol=2e-4)


def test_training_starts_from_either(release):
    run, saved = (WarmStart.read(release / name) for name in ("finished", "saved_model/1"))
    assert saved.recipe == run.recipe and set(saved.vocabularies) == set(run.vocabularies)
    for other, weight in zip(saved.model.get_weights(), run.model.get_weights(), strict=True):
        np.testing.assert_array_equal(other, weight)
