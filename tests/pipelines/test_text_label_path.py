"""The whole path of a classifier of texts by the command line, on a few made-up reviews."""

import json

import numpy as np
import pytest
from PIL import Image

from keras_attn.serving.declared import read_metadata
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes.text_classifier import RECIPE
from keras_attn_pipelines.runs.run import Run
from tests.pipelines.explored import explored
from tests.pipelines.labeled_texts import write_table
from tests.pipelines.logged_pictures import pictures_of
from tests.pipelines.saved_evaluation import check_saved_evaluation

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

CHOICES = "--vocabulary-size 310 --lengths 7 13 23 --embedding-dim 6 --hidden-dim 7 --epochs 2"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("data") / "reviews")


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    choices = [*CHOICES.split(), "--encoder", "convolutional", "--strategy", "auto"]
    assert main(["train", "text-classifier", "--data", str(data), "--out", str(out), *choices]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(run, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved_models") / "reviews"
    command = ["export", str(run.folder), str(folder), "--data", str(data), "--n-best", "2"]
    assert main(command) == 0
    return folder


def test_train_leaves_a_run_directory(run):
    assert run.description["records"] == {"train": 60, "dev": 7} and run.description["unit"]
    assert run.description["strategy"] in ("one", "mirrored")  # By the machine's GPUs.
    assert run.vocabularies()["labels"].names == ("bad", "good")
    lines = (run.folder / "history.csv").read_text().splitlines()
    assert lines[0] == "epoch,accuracy,loss,val_accuracy,val_loss" and len(lines) == 3
    assert len(pictures_of(run)) == 2 * 3


def test_evaluate(run, model, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", str(data), "--split", "test"]
    assert main([*command, "--json", str(out)]) == 0
    assert "| accuracy |" in capsys.readouterr().out
    scores = json.loads(out.read_text())
    assert 0 <= scores["scores"]["accuracy"] <= 1 and len(scores["answers"]) == 5
    assert set(scores["answers"][0]) == {"source", "label", "labels", "scores"}
    check_saved_evaluation(run, model, data, tmp_path, capsys)


def test_the_card_and_the_metadata(model):
    card = (model / "1" / "README.md").read_text()
    assert "Classifies texts: attention pooling over 7 convolutions of width 3" in card
    assert "Labels: bad, good." in card and "accuracy" in card
    metadata = read_metadata(model / "1")
    assert (metadata["n_best"], metadata["max_source"]) == (2, 23)


def test_predict(model, capsys):
    assert main(["predict", str(model), "the film is  lovely", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["source"] == "the film is  lovely" and sorted(answer["labels"]) == ["bad", "good"]
    assert sum(answer["scores"]) == pytest.approx(1, abs=1e-5)
    assert main(["predict", str(model), "a plot", " ", "film " * 40]) == 2
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2 and "an empty text" in printed.err
    assert "a source of 41 pieces, its end included (expected at most 23)" in printed.err


def test_score(model, capsys):
    assert main(["score", str(model), "--source", "a film", "--label", "good"]) == 0
    source, score, label = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (source, label) == ("a film", "good") and float(score) < 0
    assert main(["score", str(model), "--source", "a film", "--target", "good"]) == 2
    assert "Expected --source and --label. Received: --source and --t" in capsys.readouterr().err
    assert main(["score", str(model), "--source", "a film", "--label", "fair"]) == 2
    assert "a label that the model does not have" in capsys.readouterr().err


def test_explain(model, tmp_path, capsys):
    command = ["explain", str(model), "the film is a lovely $1 ☂", "--out"]
    assert main([*command, str(tmp_path / "shaded.png")]) == 0
    assert capsys.readouterr().out.split("\n")[0] in ("bad", "good")
    pixels = np.asarray(Image.open(tmp_path / "shaded.png").convert("RGB"), "int32")
    assert (pixels.max(-1) - pixels.min(-1)).max() > 60  # There is color.
    page = explored(model, command[2], tmp_path)
    contributions, shares = page["views"]
    assert contributions["words"] == shares["words"] == command[2].split()
    assert contributions["signed"] and not shares["signed"] and page["unit"] == "probability"
    assert 0.5 < sum(shares["weights"]) < 1.01
    assert main([*command[:-1], "--out", str(tmp_path / "x.html"), "--word", "film"]) == 2
    assert "Expected no --heads, --word, --layer or --scale for" in capsys.readouterr().err
    for more in (["--heads", "attention"], ["--by", "occlusion"]):
        assert main([*command, str(tmp_path / "x.svg"), *more]) == 0
    for more in (["--by", "luck"], ["--scale", "some"], ["--scale", "all"]):
        assert main([*command, str(tmp_path / "x.png"), *more]) == 2
    assert "Expected by to be one of attention, occlusion. Received: by=" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "shaded.svg")]) == 0
    assert "<svg" in (tmp_path / "shaded.svg").read_text()
    assert main([*command, str(tmp_path / "shaded.jpg")]) == 2
    assert "Expected a .png, .svg or .pdf file" in capsys.readouterr().err
    capsys.readouterr()
    assert main([*command, str(tmp_path / "x.png"), "--word", "film"]) == 2
    assert "Expected heads=attention for" in capsys.readouterr().err
    assert main(["explain", str(model), " ", "--out", str(tmp_path / "x.png")]) == 2
    assert "an empty text" in capsys.readouterr().err and not (tmp_path / "x.png").exists()


def test_heads_must_divide_a_transformers_width():
    with pytest.raises(ValueError, match="Expected embedding_dim divisible by num_heads"):
        RECIPE.replaced({"encoder": "transformer", "embedding_dim": 7})
    assert RECIPE.replaced({"embedding_dim": 7}).model.embedding_dim == 7
