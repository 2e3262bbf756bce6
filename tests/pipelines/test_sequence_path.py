"""The whole path of algorithmic problems by the command line."""

import csv
import json

import pytest
from PIL import Image

from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn_pipelines.cli import main
from tests.pipelines.logged_pictures import pictures_of
from tests.pipelines.saved_evaluation import check_saved_evaluation

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def data(recipes):
    return recipes.data("ntm_copy")


@pytest.fixture(scope="module")
def run(recipes):
    return recipes.run("ntm_copy")


@pytest.fixture(scope="module")
def model(recipes):
    return recipes.model("ntm_copy")


def test_it_learns(run):
    with (run.folder / "history.csv").open() as file:
        bits = [float(row["val_bits"]) for row in csv.DictReader(file)]
    assert bits[-1] < 0.5 * bits[0]
    assert len(pictures_of(run)) == 4 * 3


def test_evaluate(run, model, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", data, "--split", "7", "--json", str(out)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "| wrong bits a sequence | exact |" in printed
    assert "11 sequences of 7, 11 of them longer than any trained on" in printed
    scores = json.loads(out.read_text())
    assert scores["lengths"].keys() == {"7"} and len(scores["answers"]) == 11
    wrong = [
        sum(a != b for a, b in zip(answer["text"].split(), answer["target"].split()))
        for answer in scores["answers"]
    ]
    assert scores["scores"]["wrong_bits"] == pytest.approx(sum(wrong) / 11)
    assert scores["scores"]["exact"] == wrong.count(0) / 11
    check_saved_evaluation(run, model, data, tmp_path, capsys)


def test_the_card_and_the_metadata(model):
    card = (model / "1" / "README.md").read_text()
    assert "a Neural Turing Machine, feed-forward controller of 7 units, a memory of 5 × 3" in card
    metadata = read_metadata(model / "1")
    assert (metadata["problem"], metadata["longest"]) == ("copy", 2)


def test_predict(model, capsys):
    capsys.readouterr()
    assert main(["predict", str(model), "0 1", "1 0 1 1 0 1 1"]) == 0
    printed = capsys.readouterr()
    first, second = printed.out.splitlines()
    assert first.startswith("0 1\t-") and len(second.split("\t")[2].split()) == 7
    assert printed.err.count("longer than the problems that the model was trained on") == 1
    assert main(["predict", str(model), "1 0 1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["sequence"] == "1 0 1" and answer["longer"] is True
    assert main(["predict", str(model), "0 2", "0"]) == 2
    printed = capsys.readouterr()
    assert "0 2: expected words, of 1 bits each, such as '0 0'; received: 0 2" in printed.err
    assert len(printed.out.splitlines()) == 1


def test_there_is_one_answer(run, tmp_path, capsys):
    folder = str(run.folder)
    wanted = "Expected n_best=1 for a model with one answer. Received: n_best=3"
    for command in (["predict", folder, "0 1"], ["export", folder, str(tmp_path / "model")]):
        assert main([*command, "--n-best", "3"]) == 2
        assert wanted in capsys.readouterr().err


def test_a_run_has_its_recipe(run, data, tmp_path, capsys):
    command = ["evaluate", str(run.folder), "--data", data, "--recipe", str(tmp_path / "mine.py")]
    assert main(command) == 2
    assert "Expected no --recipe for a run, which has its own." in capsys.readouterr().err


def test_explain_draws_the_heads(model, tmp_path, capsys):
    out = tmp_path / "heads.png"
    assert main(["explain", str(model), "0 1 1", "--out", str(out)]) == 0
    assert "(longer than the problems" in capsys.readouterr().out
    with Image.open(out) as picture:
        assert picture.size[0] > 100
    drawing = load(model).explain("0 1")
    assert drawing.data.write.shape == (5, 1, 5) and len(drawing.figure.axes) == 3
    command = ["explain", str(model), "0 1", "--out", str(out), "--heads", "all"]
    assert main(command) == 2
    assert "Expected neither heads nor a word" in capsys.readouterr().err


def test_score_is_refused(model, capsys):
    assert main(["score", str(model), "--source", "0", "--target", "1"]) == 2
    assert "Expected a SavedModel with a signature 'score'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="Expected a SavedModel with a signature 'score'"):
        load(model).score("0", "1")


def test_bad_arguments(data, tmp_path, capsys):
    command = ["train", "ntm_copy", "--out", str(tmp_path / "run"), "--data"]
    assert main([*command, "generated:x"]) == 2
    assert "Expected data named generated:SEED" in capsys.readouterr().err
    assert main([*command, data, "--num-slots", "0"]) == 2
    assert "Expected num_slots >= 1. Received: num_slots=0" in capsys.readouterr().err
    assert not (tmp_path / "run" / "recipe.json").exists()
