"""An ensemble of two translators by the command line, from their runs to answers and pictures."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from keras_attn.saved.loading import load
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs import combined
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from tests.pipelines.toy_language import TINY, TINY_CONVOLUTIONAL, write_folder

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

FIT = {"batch_tokens": 230, "epochs": 1, "monitor": "val_loss"}
TEXTS = ["one two", "", "seven five one"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("data") / "toy")


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    recipes = {"translator_transformer": TINY, "translator_conv": TINY_CONVOLUTIONAL}
    return [
        train(load_recipe(name).replaced({**sizes, **FIT}), data, folder / name, name, verbose=0)
        for name, sizes in recipes.items()
    ]


@pytest.fixture(scope="module")
def ensemble(runs):
    out = runs[0].folder.parent / "ensemble"
    assert main(["ensemble", *(str(run.folder) for run in runs), "--out", str(out)]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(ensemble):
    folder = ensemble.folder.parent / "saved_models" / "toy"
    storage = ["--storage", "float16", "--n-best", "2"]
    assert main(["export", str(ensemble.folder), str(folder), *storage]) == 0
    return folder


def test_the_run_says_what_it_is(runs, ensemble):
    description = ensemble.description
    assert description["ensemble_of"] == [str(run.folder.resolve()) for run in runs]
    assert description["model"] == (
        "an ensemble of 2 models: a Transformer of 1 + 1 layers, width 14 and a convolutional "
        "model of 2 + 1 layers, 13 channels"
    )
    assert ensemble.experiment().values() == runs[1].experiment().values()


def test_the_saved_model_answers_as_the_run(ensemble, model, data, capsys):
    card = (model / "1" / "README.md").read_text()
    assert "an ensemble of 2 models: a Transformer of 1 + 1 layers" in card
    assert "an ensemble of translator_transformer, translator_conv, with the settings of " in card
    assert "mean over 2 models" in card
    loaded, service = load(model), ensemble.service(n_best=2)
    asked = [text.encode() for text in TEXTS]
    expected = service.answer(np.array(asked))
    for place, answer in enumerate(loaded.ask("serving_default", source=asked)):
        np.testing.assert_allclose(answer["score"], expected["score"][place], atol=0.01)
    capsys.readouterr()
    assert main(["evaluate", str(ensemble.folder), "--data", str(data), "--split", "dev"]) == 0
    assert "BLEU" in capsys.readouterr().out
    assert main(["predict", str(model), "one two", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"]


def test_scores_are_those_of_the_mean_of_probabilities(runs, ensemble):
    source, target = np.array([b"one two"]), np.array([b"zwei eins"])
    together = ensemble.service().score(source, target)["token_scores"]
    alone = [np.exp(run.service().score(source, target)["token_scores"]) for run in runs]
    expected = np.where(np.mean(alone, axis=0) < 1, np.log(np.mean(alone, axis=0)), 0)
    np.testing.assert_allclose(together, expected, atol=1e-5)


def test_it_is_explained(model, tmp_path, capsys):
    loaded = load(model)
    (aligned,) = loaded.ask("align", source=[b"one two"], target=[b"zwei eins"])
    weights = aligned["cross_weights"]
    assert weights.shape[:2] == (1, 1)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert main(["explain", str(model), "one two", "--out", str(tmp_path / "where.png")]) == 0
    with Image.open(tmp_path / "where.png") as image:
        assert image.width > 200
    command = ["explain", str(model), "one two", "--out", str(tmp_path / "heads.png")]
    assert main([*command, "--heads", "cross"]) == main([*command, "--word", "one"]) == 2


def test_what_cannot_be_done_is_refused(runs, ensemble, model, data, tmp_path, capsys):
    def error(*command):
        assert main(list(map(str, command))) == 2
        return capsys.readouterr().err

    out, one = tmp_path / "out", runs[0].folder
    for start in (ensemble.folder, model):
        said = error("train", "translator_conv", "--data", data, "--out", out, "--from", start)
        assert "Expected one model to start from" in said and "an ensemble of 2" in said
    said = error("export", ensemble.folder, out, "--format", "marian")
    assert "Expected a run of a Transformer from text to text" in said
    assert "Expected two or more runs" in error("ensemble", one, "--out", out)
    assert "Expected different runs" in error("ensemble", one, one, "--out", out)
    assert "Expected a new run directory" in error(
        "ensemble", one, runs[1].folder, "--out", ensemble.folder
    )
    assert "Expected single models" in error("ensemble", ensemble.folder, one, "--out", out)
    other = Run(shutil.copytree(one, tmp_path / "other"))
    words = other.save_vocabularies({"tokenizer": Tokenizer.learn(["other words"], 270)})
    other.describe({**other.description, "digests": words})
    assert "which differ in tokenizer" in error("ensemble", other.folder, one, "--out", out)
    other = Run(shutil.copytree(one, tmp_path / "longer"))
    description = other.description
    description["parts"]["task"]["lengths"] = [7, 13, 29]
    other.describe(description)
    assert "which differ in lengths" in error("ensemble", other.folder, one, "--out", out)
    own = Run(shutil.copytree(one, tmp_path / "own"))
    (own.folder / "recipe.py").write_text(
        "from keras_attn_pipelines.recipes.translator_transformer import RECIPE\n"
    )
    assert "which differ in recipe.py" in error("ensemble", own.folder, one, "--out", out)
    assert "an ensemble" in error("average", ensemble.folder, ensemble.folder, "--out", out)
    assert not out.exists()


def test_an_ensemble_of_means_names_its_own_runs(runs, tmp_path):
    mean = combined.average([runs[1], runs[1]], tmp_path / "mean")
    made = combined.ensemble([runs[0], mean], tmp_path / "both").description
    assert "mean_of" not in made and made["ensemble_of"][1] == str(tmp_path / "mean")


def test_training_does_not_go_on(ensemble, data):
    before = (ensemble.folder / "model.keras").read_bytes()
    with pytest.raises(ValueError, match="an ensemble, which cannot be trained on"):
        train(ensemble.experiment(), data, ensemble.folder, "translator_conv", verbose=0)
    assert (ensemble.folder / "model.keras").read_bytes() == before
