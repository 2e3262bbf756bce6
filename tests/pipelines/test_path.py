"""The whole path by the command line, on a few drawn scenes: train, evaluate, export, ask."""

import dataclasses
import json

import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.serving.export import read_metadata
from pipelines.cli import main
from pipelines.recipes import load_recipe, recipe_names
from pipelines.run import Run
from pipelines.scenes import write_scenes

CHOICES = ["--batch-size", "5", "--hidden-units", "7", "--embedding-units", "3", "--epochs", "2"]
CHOICES += ["--attention-units", "5", "--vocabulary-size", "300", "--lengths", "13", "60"]
CHOICES += ["--beam-width", "2", "--monitor", "val_loss"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "scenes"
    return write_scenes(folder, train=11, dev=3, test=3, novel=2)


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "scenes", "--data", str(data), "--out", str(out), *CHOICES]) == 0
    return Run(out)


def test_train_leaves_a_run_directory(run):
    description = run.description
    assert description["values"]["lengths"] == [13, 60]
    assert description["pictures"] == {"train": 11, "dev": 3, "test": 3}
    assert run.recipe().hidden_units == 7
    lines = (run.folder / "history.csv").read_text().splitlines()
    assert len(lines) == 3 and "val_cider_d" in lines[0] and "val_exact" in lines[0]
    found = sorted(one.name for one in run.folder.iterdir())
    expected = "history.csv model.best.json model.keras recipe.json tensorboard tokenizer"
    assert found == expected.split()
    events = list((run.folder / "tensorboard" / "attention").glob("events*"))
    tags = [
        value.tag
        for event in tf.compat.v1.train.summary_iterator(str(events[0]))
        for value in event.summary.value
    ]
    assert "attention" in tags


def test_evaluate(run, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", str(data), "--split", "novel_pairs"]
    assert main([*command, "--json", str(out)]) == 0
    table = capsys.readouterr().out
    assert "| BLEU-1 |" in table and "2 pictures of novel_pairs, beam 2" in table
    scores = json.loads(out.read_text())
    assert len(scores["captions"]) == 2 and 0 <= scores["scores"]["bleu_1"] <= 1


def test_export_predict_explain(run, data, tmp_path, capsys):
    model = tmp_path / "saved_models" / "tiny"
    arguments = ["export", str(run.folder), str(model), "--data", str(data), "--n-best", "2"]
    assert main(arguments) == 0
    assert read_metadata(model / "1")["precision"] == "float32"
    card = (model / "README.md").read_text()
    assert "| BLEU-1 |" in card and '"hidden_units": 7' in card and "tensorflow 2." in card
    picture = str(data / "images" / "test_00000.png")
    capsys.readouterr()
    assert main(["predict", str(model), picture]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [picture] * 2
    ask = ["score", str(model), "--image", picture, "--caption"]
    assert main([*ask, "a large red circle"]) == 0
    path, score, caption = capsys.readouterr().out.rstrip("\n").split("\t")
    assert path == picture and float(score) < 0 and caption == "a large red circle"
    assert main([*ask, "red " * 90]) == 2
    assert "pieces, its end included (expected at most 60)" in capsys.readouterr().err
    out = tmp_path / "explained.png"
    assert main(["explain", str(model), picture, "--out", str(out)]) == 0
    with Image.open(out) as image:
        assert image.format == "PNG" and image.width > 300
    assert [one.name for one in tmp_path.iterdir() if "partial" in one.name] == []


def test_export_in_bfloat16(run, tmp_path, capsys):
    model = tmp_path / "low"
    assert main(["export", str(run.folder), str(model), "--precision", "bfloat16"]) == 0
    assert read_metadata(model / "1")["precision"] == "bfloat16"
    assert "Precision: bfloat16; stored weights, logits" in (model / "README.md").read_text()
    command = ["export", str(run.folder), str(tmp_path / "none"), "--precision", "float16"]
    assert main(command) == 2
    assert "Expected a precision of ('float32', 'bfloat16')" in capsys.readouterr().err


def test_same_run_directory_again(run, data, capsys):
    command = ["train", "scenes", "--data", str(data), "--out", str(run.folder)]
    assert main([*command, *CHOICES]) == 2
    assert "whose training has ended" in capsys.readouterr().err
    assert main(command) == 2
    assert "batch_size=5 instead of 16" in capsys.readouterr().err


def test_users_own_recipe_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        '"""Mine."""\nfrom dataclasses import dataclass\n'
        "from pipelines.captioning import CaptioningRecipe, option\n"
        "@dataclass(frozen=True, kw_only=True)\nclass Mine(CaptioningRecipe):\n"
        '    zoom: float = option(1.5, "how close")\n'
        "RECIPE = Mine\n"
    )
    recipe = load_recipe(str(path))
    assert [one.name for one in dataclasses.fields(recipe)][-1] == "zoom"
    with pytest.raises(SystemExit, match="0"):
        main(["train", str(path), "--help"])


def test_help_lists_the_recipes_flags(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", "scenes", "-h"])
    shown = capsys.readouterr().out
    assert "--hidden-units INT" in shown and "--no-lowercase" in shown
    assert main(["recipes"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in recipe_names())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "scene", "--data", "x", "--out", "y"], "Did you mean 'scenes'?"),
        (["train", "no.py", "--data", "x", "--out", "y"], "no such file"),
        (["train", "scenes", "--data", "/nowhere", "--out", "y"], "Expected a caption file at"),
        (["evaluate", "/nowhere", "--data", "x"], "Expected a run directory"),
        (["predict", "/nowhere", "x.png"], "Expected a SavedModel"),
    ],
)
def test_bad_commands(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
