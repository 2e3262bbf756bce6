"""The whole path by the command line, on a few drawn scenes: train, evaluate, export, ask."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.serving.declared import read_metadata
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training import EpochLog
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.experiment import Cosine
from keras_attn_pipelines.recipes import load_recipe, recipe_names
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run
from tests.pipelines.explored import explored
from tests.pipelines.saved_evaluation import check_saved_evaluation
from tests.recipes.registry import BY_NAME
from tests.recipes.shared import flags

pytestmark = pytest.mark.systems

TRAIN = ["train", "scenes", "--data", ".", "--out", "y"]
CHOICES = flags(BY_NAME["scenes"].values)


@pytest.fixture(scope="module")
def data(recipes):
    return Path(recipes.data("scenes"))


@pytest.fixture(scope="module")
def run(recipes):
    return recipes.run("scenes")


def test_train_leaves_a_run_directory(run):
    description = run.description
    assert description["parts"]["task"]["lengths"] == [13, 60]
    assert description["records"] == {"train": 11, "dev": 3, "test": 3}
    assert description["unit"] == "pictures" and description["vocabularies"]["tokenizer"] <= 300
    assert run.experiment().model.hidden_dim == 7
    lines = (run.folder / "history.csv").read_text().splitlines()
    assert len(lines) == 3 and "val_cider_d" in lines[0] and "val_exact" in lines[0]
    monitors = {f"val_{name}" for name in run.experiment().task.spec.monitors}
    assert monitors <= set(lines[0].split(","))
    actual = sorted(entry.name for entry in run.folder.iterdir())
    expected = "details.txt history.csv model.keras recipe.json tensorboard tokenizer"
    assert [name for name in actual if name != "evaluations.json"] == expected.split()
    events = list((run.folder / "tensorboard" / "attention").glob("events*"))
    tags = [
        value.tag
        for event in tf.compat.v1.train.summary_iterator(str(events[0]))
        for value in event.summary.value
    ]
    assert "attention" in tags


def test_evaluate(run, data, meteor, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", str(data), "--split", "novel_pairs"]
    assert main([*command, "--json", str(out)]) == 0
    table = capsys.readouterr().out
    assert "| BLEU-1 |" in table and "2 pictures of novel_pairs, beam 2" in table
    assert "Few records: on 2 pictures, a share such as accuracy has a standard error" in table
    assert ("| METEOR |" in table) == meteor
    scores = json.loads(out.read_text())
    assert len(scores["captions"]) == 2 and 0 <= scores["scores"]["bleu_1"] <= 100


def test_export_predict_explain(run, data, tmp_path, capsys, monkeypatch):
    model = tmp_path / "saved_models" / "tiny"
    limits = tmp_path / "limits.md"
    limits.write_bytes(b"\xff")
    arguments = ["export", str(run.folder), str(model), "--data", str(data), "--n-best", "2"]
    arguments += ["--limits", str(limits)]
    assert main(arguments) == 2
    assert f"Expected UTF-8 text in {limits}" in capsys.readouterr().err and not model.exists()
    limits.write_text("Nothing but scenes.")
    assert main(arguments) == 0
    assert read_metadata(model / "1")["precision"] == "float32"
    card = (model / "README.md").read_text()
    assert card.startswith("# tiny, version 1\n") and "SmallConvEncoder" in card
    assert (model / "1" / "README.md").read_text() == card
    assert "## Use and limits\n\nNothing but scenes.\n" in card
    command = f"keras-attn evaluate {run.folder} --data {data} --split dev --beam-width 2"
    assert f"Command: `{command} --precision float32`" in card
    assert "| BLEU-1 |" in card and '"hidden_dim": 7' in card and "tensorflow 2." in card
    assert "\nKept: epoch 2 of 2, val" in card
    assert "**This model is undertrained: BLEU is" in card
    with monkeypatch.context() as patch:  # Scores of the same weights are reused.
        patch.setattr(Run, "service", None)
        assert evaluate(run, data, "dev", reuse=True).cells["BLEU-1"] in card
    said = capsys.readouterr().out
    assert f"exported: {model / '1'}\nkept: epoch 2 of 2, val" in said and "next:\n" in said
    picture = str(data / "images" / "test_00000.png")
    assert main(["predict", str(model), picture]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows] == [[picture, "1"], ["", "2"]]
    check_many(model, data, tmp_path / "many", capsys)
    check_saved_evaluation(run, model, data, tmp_path, capsys, "novel_pairs")
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
    page = explored(model, picture, tmp_path)
    assert page["asked"] == picture and page["unit"] == "nats"
    (view,) = page["views"]
    assert view["type"] == "picture" and " ".join(view["steps"]) == page["answers"][0][0]
    np.testing.assert_allclose(view["sums"], 1, atol=0.1)
    assert main(["explain", str(model), picture, "--out", str(out), "--scale", "all"]) == 0
    assert [entry.name for entry in tmp_path.iterdir() if "partial" in entry.name] == []


def check_many(model, data, folder, capsys):
    """Folders, patterns and JSON lines; what cannot be read is told, and nothing else suffers."""
    (folder / "deeper").mkdir(parents=True)
    (folder / "empty").mkdir()
    names = [folder / "b.PNG", folder / "deeper" / "a.png", folder / "z.png"]
    for path in names[:2]:
        shutil.copyfile(data / "images" / "test_00000.png", path)
    names[2].write_bytes(b"no picture")
    (folder / "notes.txt").write_text("no picture either")
    assert main(["predict", str(model), str(folder), "--json"]) == 2
    said = capsys.readouterr()
    actual = [json.loads(line) for line in said.out.splitlines()]
    assert [value["image"] for value in actual] == [str(name) for name in names]
    assert len(actual[0]["text"]) == len(actual[0]["score"]) == 2 and actual[0]["score"][0] < 0
    assert actual[0] == {**actual[1], "image": str(names[0])}
    assert set(actual[2]) == {"image", "error"} and f"{names[2]}: " in said.err
    assert main(["predict", str(model), str(folder / "**" / "*.png"), str(folder / "empty")]) == 2
    said = capsys.readouterr()
    assert [line.split("\t")[0] for line in said.out.splitlines()] == [str(names[1]), ""]
    assert f"{folder / 'empty'}: a folder without pictures (.jpg, .jpeg, .png" in said.err


def test_export_in_bfloat16(run, tmp_path, capsys):
    model = tmp_path / "low"
    assert (
        main(["export", str(run.folder), str(model), "--precision", "bfloat16", "--no-evaluate"])
        == 0
    )
    assert read_metadata(model / "1")["precision"] == "bfloat16"
    assert "Precision: bfloat16; stored weights, logits" in (model / "README.md").read_text()
    command = ["export", str(run.folder), str(tmp_path / "none"), "--precision", "float16"]
    assert main(command) == 2
    assert "Expected a precision of ('float32', 'bfloat16')" in capsys.readouterr().err


def test_same_run_directory_again(run, data, tmp_path, capsys):
    folder = shutil.copytree(run.folder, tmp_path / "again")
    command = ["train", "scenes", "--data", str(data), "--out", str(folder)]
    assert main([*command, *CHOICES]) == 2
    assert "whose training has ended" in capsys.readouterr().err
    assert main(command) == 2
    assert "batch_size=5 instead of 16" in capsys.readouterr().err


def test_a_run_that_kept_no_step_may_begin_otherwise(run, data, tmp_path, capsys):
    folder = tmp_path / "again"
    shutil.copytree(run.folder, folder, ignore=shutil.ignore_patterns("model*", "history*"))
    description = {key: value for key, value in run.description.items() if key != "ended"}
    Run(folder).describe(description)
    command = ["train", "scenes", "--data", str(data), "--out", str(folder), *CHOICES]
    assert main([*command, "--hidden-dim", "5", "--epochs", "1"]) == 0
    assert Run(folder).experiment().model.hidden_dim == 5
    assert len((folder / "history.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("damaged", ["saved_model.pb", "variables/variables.data-00000-of-00001"])
def test_damaged_saved_models(recipes, damaged, tmp_path, capsys):
    version = shutil.copytree(recipes.model("scenes") / "1", tmp_path / "model" / "1")
    path = version / damaged
    path.write_bytes(path.read_bytes()[:1000])
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), __file__]) == 2
    error = capsys.readouterr().err
    assert f"Expected a SavedModel in {version}. Received: damaged files" in error


def test_users_own_recipe_file(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        '"""Mine."""\nfrom dataclasses import replace\n'
        "from keras_attn_pipelines.experiment import option, part\n"
        "from keras_attn_pipelines.recipes import scenes\n"
        "@part\nclass Zoomed:\n"
        '    zoom: float = option("how close", default=1.5, least=1)\n'
        "    def build(self, image_size):\n        return None\n"
        "RECIPE = replace(scenes.RECIPE, model=replace(scenes.RECIPE.model, encoder=Zoomed()))\n"
    )
    assert load_recipe(str(path)).values()["zoom"] == 1.5
    with pytest.raises(SystemExit, match="0"):
        main(["train", str(path), "--help"])
    assert "--zoom FLOAT" in capsys.readouterr().out
    command = ["train", str(path), "--data", "x", "--out", "y", "--zoom", "0.5"]
    assert main(command) == 2
    assert "Expected zoom >= 1. Received: zoom=0.5" in capsys.readouterr().err


def test_help_lists_the_recipes_flags(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", "scenes", "-h"])
    shown = capsys.readouterr().out
    assert "--hidden-dim INT" in shown and "--no-lowercase" in shown
    assert main(["recipes"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in recipe_names())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "scene", "--data", "x", "--out", "y"], "Did you mean 'scenes'?"),
        (["train", "no.py", "--data", "x", "--out", "y"], "no such file"),
        (["train", "scenes", "--data", "/nowhere", "--out", "y"], "Expected data at /nowhere"),
        (["evaluate", "/nowhere", "--data", "x"], "Expected a run directory"),
        (["predict", "/nowhere", "x.png"], "Expected a SavedModel"),
        ([*TRAIN, "--batch-size", "0"], "batch_size >= 1. Received: batch_size=0"),
        ([*TRAIN, "--lengths", "13", "7"], "increasing and >= 1. Received: lengths=(13, 7"),
        ([*TRAIN, "--lengths", "0"], "lengths to be increasing and >= 1"),
        ([*TRAIN, "--captions-per-picture", "0"], "captions_per_picture >= 1. Received: captions"),
        ([*TRAIN, "--dropout", "1.5"], "dropout >= 0 and < 1. Received: dropout=1.5"),
        ([*TRAIN, "--learning-rate", "nan"], "learning_rate > 0 and finite"),
        ([*TRAIN, "--tolerance", "nan"], "tolerance between 0 and 1. Received: tolerance=nan"),
        ([*TRAIN, "--monitor", "val_bleu"], "monitor to be one of loss, token_accuracy, val_loss"),
        (
            [*TRAIN, "--fit", "stretch"],
            "fit to be one of squash, crop, shortest_edge. Received: fit='stretch'",
        ),
        ([*TRAIN, "--dev-share", "0.5", "--test-share", "0.5"], "dev_share + test_share < 1"),
        ([*TRAIN, "--image-size", "5000"], "between 1 and 4096. Received: image_size=5000"),
        (["train", "own-pictures", "--data", ".", "--out", "y"], "initial weights (--from) for"),
        ([*TRAIN, "--average", "2", "--monitor", "loss"], "a monitor on dev with average > 1"),
        ([*TRAIN, "--scheduled-sampling-rate", "2"], "sampling_rate between 0 and 1. Received"),
        ([*TRAIN, "--beam-width", "0"], "beam_width between 1 and 1000. Received: beam_width=0"),
        (["train", "scene", "--help"], "Did you mean 'scenes'?"),
    ],
)
def test_bad_commands(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_recipe_file_cannot_import_the_one_beside_it(tmp_path):
    (tmp_path / "beside.py").write_text("")
    path = tmp_path / "mine.py"
    path.write_text("import beside")
    with pytest.raises(ValueError, match="named 'beside'; a run keeps a copy of this file alone"):
        load_recipe(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RECIPE = (", "Expected a recipe file that runs. Received: .*mine.py with SyntaxError"),
        ("RECIPE = 1 / 0", "ZeroDivisionError: division by zero"),
        ("RECIPE = int", r"Expected RECIPE = Experiment\(\.\.\.\) in .*mine.py"),
        ("", "Received: None"),
    ],
)
def test_recipe_files_that_are_none(text, message, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_recipe(str(path))


@pytest.mark.slow
def test_another_process_reads_a_bfloat16_run_and_its_users_own_encoder(data, tmp_path):
    path, out = tmp_path / "mine.py", tmp_path / "run"
    path.write_text(
        "import keras\nfrom dataclasses import replace\n"
        "from keras_attn.models import SmallConvEncoder\n"
        "from keras_attn_pipelines.experiment import part\n"
        "from keras_attn_pipelines.recipes.scenes import RECIPE as SCENES\n"
        "@keras.saving.register_keras_serializable('mine')\n"
        "class MyEncoder(SmallConvEncoder):\n    pass\n"
        "@part\nclass Mine:\n"
        "    def build(self, image_size):\n        return MyEncoder((3,), (8,))\n"
        "RECIPE = replace(SCENES, model=replace(SCENES.model, encoder=Mine()))\n"
    )
    command = ["train", str(path), "--data", str(data), "--out", str(out), *CHOICES]
    assert main([*command, "--epochs", "1", "--precision", "bfloat16"]) == 0
    assert Run(out).description["precision"] == "mixed_bfloat16"
    path.unlink()
    code = (
        "from keras_attn_pipelines.runs.run import Run\n"
        f"encoder = Run({str(out)!r}).model().encoder\n"
        "print(type(encoder).__name__, encoder.compute_dtype)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["MyEncoder", "float32"]


def test_ctrl_c_ends_with_a_line_and_the_run_goes_on(data, tmp_path, capsys, monkeypatch):
    out = tmp_path / "run"
    command = ["train", "scenes", "--data", str(data), "--out", str(out), *CHOICES]

    def press(callback, epoch, logs=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(EpochLog, "on_epoch_end", press)
        assert main(command) == 130
    assert "stopped; rerun the same command to begin anew\n" in capsys.readouterr().err
    assert main(command) == 0
    assert Run(out).description["ended"]
    said = capsys.readouterr().out
    assert "kept: epoch 2 of 2, val_loss 5." in said and "; training ran for all 2 epochs\n" in said
    assert "This model is undertrained: BLEU is 0" in said
    example = sorted((data / "images").glob("dev_*"))[0]
    assert f"  keras-attn predict saved_models/run {example}\n" in said


def test_training_stops_where_the_loss_is_no_number(data, tmp_path, capsys):
    out = tmp_path / "run"
    command = ["train", "scenes", "--data", str(data), "--out", str(out), *CHOICES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cosine, "build", lambda *_: float("nan"))
        assert main(command) == 2
    message = capsys.readouterr().err
    assert "Expected a finite loss. Received: loss=nan at step 2, in epoch 1" in message
    assert not (out / "model.keras").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("recipe.json", b"{", "Expected JSON in .*recipe.json"),
        ("recipe.json", b"[]", r"Expected a JSON object in .*recipe.json"),
        ("recipe.json", b'{"kind": "captioning", "values": {}}', "written by an earlier version"),
        (
            "recipe.json",
            b'{"parts": {}}',
            "Expected data, model, precision, recipe, records, strategy",
        ),
        (
            "model.keras",
            b"PK\x03",
            "Expected the file that was kept at .*model.keras. Received: a damaged",
        ),
        ("tokenizer/tokenizer.json", b"{}", "Expected the files that were saved in .*tokenizer"),
        ("tokenizer/sentencepiece.model", b"junk", "Expected the files that were saved in"),
    ],
)
def test_damaged_run_directories(run, name, content, message, tmp_path):
    copy = Path(shutil.copytree(run.folder, tmp_path / "copy"))
    (copy / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Run(copy).service()


def test_a_run_with_another_runs_tokenizer(run, tmp_path):
    copy = Path(shutil.copytree(run.folder, tmp_path / "copy"))
    Tokenizer.learn(["a red circle"], 270).save(copy / "tokenizer")
    description = Run(copy).description
    del description["digests"]  # As earlier versions left it.
    Run(copy).describe(description)
    with pytest.raises(ValueError, match=r"Expected a tokenizer of \d+ pieces.*Received: 2\d\d"):
        Run(copy).service()


def test_export_with_familiarity(run, data, tmp_path, capsys):
    more = write_scenes(tmp_path / "more", train=31, dev=23, test=2, novel=2)
    noise, random = tmp_path / "noise", np.random.default_rng(0)
    noise.mkdir()
    for place in range(20):
        pixels = random.integers(0, 256, (64, 64, 3), "uint8")
        Image.fromarray(pixels).save(noise / f"{place:02}.png")
    model = tmp_path / "saved_models" / "familiar"
    command = ["export", str(run.folder), str(model), "--no-evaluate"]
    calibrated = [*command, "--familiarity", "--unfamiliar", str(noise)]
    for refused, problem in (
        ([*command, "--unfamiliar", str(noise)], "Expected --familiarity with --unfamiliar"),
        ([*command, "--familiarity", "--unfamiliar", str(tmp_path / "no")], "no such file"),
        ([*calibrated, "--data", str(data)], "at least 20 readable pictures of dev. Received: 3"),
        ([*calibrated, "--products", "int8"], "Expected float32 products with a familiarity"),
        ([*command, "--familiarity", "--data", str(more)], "Expected other pictures to be farther"),
    ):
        assert main(refused) == 2
        assert problem in capsys.readouterr().err and not model.exists()
    (noise / "broken.png").write_bytes(b"<html>")
    assert main([*calibrated, "--data", str(more), "--storage", "int8"]) == 0
    told = capsys.readouterr()
    said = told.out
    assert "skipped: 1 pictures of noise: " in told.err
    assert "| dev | 23 | 0.0% |" in said and "| noise | 20 | 100.0% |" in said
    card = (model / "1" / "README.md").read_text()
    assert "\n## Familiarity\n" in card and "31 training pictures of more" in card
    asked = [str(more / "images" / "dev_00000.png"), str(noise / "07.png")]
    assert main(["predict", str(model), *asked, "--json"]) == 0
    told = capsys.readouterr()
    known, other = (json.loads(line)["familiarity"] for line in told.out.splitlines())
    assert known > 0.5 > 0.1 > other
    note = ": unlike the pictures that the model was trained on (familiarity under 0.0001)\n"
    assert told.err.count(note) == told.err.count("unlike") == 1
    assert read_metadata(model / "1")["views"][-1]["output"] == "familiarity"
    assert "familiarity" in explored(model, asked[1], tmp_path)["notes"][0]


def test_familiarity_is_for_captioners(recipes, tmp_path, capsys):
    run = recipes.run("text_classifier")
    command = ["export", str(run.folder), str(tmp_path / "x"), "--no-evaluate", "--familiarity"]
    assert main(command) == 2
    assert "Expected a single captioner of pictures for a familiarity" in capsys.readouterr().err
