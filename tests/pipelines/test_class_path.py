"""The whole path of a classifier by the command line, on a few drawn pictures."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.serving.declared import read_metadata
from keras_attn.training import EpochLog
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes.vit_classifier import RECIPE
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.warm_start import WarmStart
from tests.pipelines.explored import explored
from tests.pipelines.labeled_pictures import LABELS, write_classes
from tests.pretrained.vision_files import golden, write_folder
from tests.recipes.registry import BY_NAME
from tests.recipes.shared import flags

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TRAIN = ["train", "vit_classifier", "--data", "x", "--out", "y"]
CHOICES = BY_NAME["vit_classifier"].values
SIZES = ("patch_size", "num_layers", "hidden_dim", "intermediate_dim", "num_heads")


def train(data, out, *more, **choices):
    command = ["train", "vit-classifier", "--data", str(data), "--out", str(out)]
    return main([*command, *flags({**CHOICES, **choices}), *map(str, more)])


@pytest.fixture(scope="module")
def data(recipes):
    return Path(recipes.data("vit_classifier"))


@pytest.fixture(scope="module")
def run(recipes):
    return recipes.run("vit_classifier")


@pytest.fixture(scope="module")
def model(recipes):
    return recipes.model("vit_classifier")


def test_train_leaves_a_run_directory(run):
    assert run.description["records"] == {"dev": 12, "test": 6, "train": 24}
    assert run.description["unit"] == "pictures" and run.description["vocabularies"]["labels"] == 6
    assert run.experiment().values() == {**RECIPE.values(), **CHOICES}
    assert run.vocabularies()["labels"].names == tuple(LABELS)
    lines = (run.folder / "history.csv").read_text().splitlines()
    assert lines[0] == "epoch,accuracy,loss,val_accuracy,val_loss" and len(lines) == 3
    actual = sorted(entry.name for entry in run.folder.iterdir())
    expected = "history.csv labels model.keras recipe.json tensorboard"
    assert [name for name in actual if name != "evaluations.json"] == expected.split()
    events = list((run.folder / "tensorboard" / "attention").glob("events*"))
    tags = [
        value.tag
        for event in tf.compat.v1.train.summary_iterator(str(events[0]))
        for value in event.summary.value
    ]
    assert "attention" in tags


def test_evaluate(run, data, tmp_path, capsys):
    more = shutil.copytree(data, tmp_path / "more")
    (more / "test" / "emu").mkdir()
    shutil.copyfile(more / "test" / "red" / "0.png", more / "test" / "emu" / "0.png")
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", str(more), "--split", "test"]
    assert main([*command, "--json", str(out)]) == 0
    table = capsys.readouterr().out
    assert "| accuracy | top-5 accuracy |" in table and "| label | taken for |" in table
    assert "7 pictures of test; 1 with labels that the model does not know" in table
    scores = json.loads(out.read_text())
    right = [answer["labels"][0] == answer["label"] for answer in scores["answers"]]
    among = [answer["label"] in answer["labels"] for answer in scores["answers"]]
    assert scores["scores"] == {
        "accuracy": pytest.approx(sum(right) / 7),
        "top_5": pytest.approx(sum(among) / 7),
    }
    assert all(len(answer["labels"]) == 5 for answer in scores["answers"])
    assert sum(mistake["count"] for mistake in scores["mistakes"]) == 7 - sum(right)
    assert main([*command, "--beam-width", "2"]) == 2
    assert (
        "Expected no beam width for a model whose answers need no search" in capsys.readouterr().err
    )


def test_a_saved_model_is_evaluated_with_the_labels_that_it_answers(
    run, model, data, tmp_path, capsys
):
    actual = []
    for asked in (run.folder, model):
        out = tmp_path / "found.json"
        assert main(["evaluate", str(asked), "--data", str(data), "--json", str(out)]) == 0
        actual.append(json.loads(out.read_text()))
    assert actual[0]["scores"]["accuracy"] == actual[1]["scores"]["accuracy"]
    assert "top_5" in actual[0]["scores"] and "top_5" not in actual[1]["scores"]
    assert actual[0]["mistakes"] == actual[1]["mistakes"]
    best = [answer["labels"][:2] for answer in actual[0]["answers"]]
    assert best == [answer["labels"] for answer in actual[1]["answers"]]


def test_export_has_a_card_and_metadata(run, model):
    metadata = read_metadata(model / "1")
    assert metadata["recipe"] == "vit_classifier" and metadata["n_best"] == 2
    assert metadata["parts"] == run.description["parts"]
    card = (model / "README.md").read_text()
    assert "Labels: black, blue, green, purple, red, yellow." in card
    assert "| accuracy | top-5 accuracy |" in card and "--beam-width" not in card
    assert "The 2 most probable of 6 labels. Precision: float32." in card


def test_predict(model, data, tmp_path, capsys):
    folder = shutil.copytree(data / "test", tmp_path / "asked")
    (folder / "z.png").write_bytes(b"no picture")
    assert main(["predict", str(model), str(folder), "--json"]) == 2
    said = capsys.readouterr()
    actual = [json.loads(line) for line in said.out.splitlines()]
    assert [Path(value["image"]).parent.name for value in actual[:6]] == LABELS
    assert all(len(answer["labels"]) == len(answer["scores"]) == 2 for answer in actual[:6])
    assert all(0 < sum(answer["scores"]) <= 1 for answer in actual[:6])
    assert set(actual[6]) == {"image", "error"} and f"{folder / 'z.png'}: " in said.err
    assert main(["predict", str(model), str(folder / "red" / "*.png")]) == 0
    path, rank, score, label = capsys.readouterr().out.splitlines()[0].split("\t")
    assert path == str(folder / "red" / "0.png") and 0 < float(score) < 1 and label in LABELS
    assert rank == "1"
    assert main(["score", str(model), "--image", path, "--label", label]) == 0
    given = float(capsys.readouterr().out.split("\t")[1])
    assert np.exp(given) == pytest.approx(float(score), abs=0.02)
    assert main(["score", str(model), "--image", path, "--caption", "red"]) == 2
    assert "Expected --image and --label" in capsys.readouterr().err


def test_the_largest_picture_is_a_choice_of_the_export(run, data, tmp_path, capsys):
    large = tmp_path / "large.png"
    Image.new("RGB", (101, 97), "red").save(large)
    small = data / "test" / "red" / "0.png"
    with Image.open(small) as image:
        pixels = image.width * image.height
    folder = tmp_path / "limited"
    assert (
        main(["export", str(run.folder), str(folder), "--max-pixels", str(pixels), "--no-evaluate"])
        == 0
    )
    assert read_metadata(folder / "1")["max_pixels"] == pixels
    # Requests of 19 pictures, which decode 8 of this size.
    many = [str(small)] * 18 + [str(large)]
    assert main(["predict", str(folder), *many, "--json"]) == 2
    said = capsys.readouterr()
    assert said.err.strip().endswith(f"{large}: 101x97 pixels, more than the limit of {pixels}")
    answers = [json.loads(line) for line in said.out.splitlines()[-19:]]
    assert answers[0]["labels"]
    for answer in answers[:18]:  # Rows of a product may differ by rounding.
        assert answer == {**answers[0], "scores": pytest.approx(answers[0]["scores"])}
    ask = ["evaluate", str(run.folder), "--data", str(data), "--max-pixels"]
    assert main([*ask, str(pixels - 1)]) == 0
    assert capsys.readouterr().err.count(f"more than the limit of {pixels - 1}") == 12
    assert main([*ask, "0"]) == 2
    assert "Expected max_pixels from 1 to 100000000. Received: 0" in capsys.readouterr().err


def test_explain(model, data, tmp_path, capsys):
    ask = ["explain", str(model), str(data / "test" / "red" / "0.png"), "--out"]
    shown = {"rollout.png": [], "heads.png": ["--heads", "encoder"]}
    for name, more in shown.items():
        assert main([*ask, str(tmp_path / name), *more]) == 0
        assert capsys.readouterr().out.splitlines()[0] in LABELS
        with Image.open(tmp_path / name) as image:
            assert image.format == "PNG" and image.width > 300
    page = explored(model, ask[2], tmp_path)
    assert page["answers"][0][0] in LABELS
    assert [view["type"] for view in page["views"]] == ["picture", "picture"]
    for more in (["--heads", "decoder"], ["--word", "red"]):
        assert main([*ask, str(tmp_path / "no.png"), *more]) == 2
        assert "Expected heads=encoder for" in capsys.readouterr().err
    assert main([*ask, str(tmp_path / "no.jpg")]) == 2
    assert not list(tmp_path.glob("no.*"))


@pytest.mark.slow
def test_a_stopped_training_ends_with_the_same_weights(run, data, tmp_path, monkeypatch, capsys):
    def press(callback, epoch, logs=None):
        raise KeyboardInterrupt

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(EpochLog, "on_epoch_end", press)
        assert train(data, out) == 130
    assert train(data, out) == 0
    for weight, other in zip(run.model().get_weights(), Run(out).model().get_weights()):
        np.testing.assert_allclose(weight, other, atol=1e-4)
    assert train(data, out) == 2
    assert "whose training has ended" in capsys.readouterr().err


@pytest.mark.slow
def test_warm_start_from_a_run_and_from_a_saved_model(run, model, data, tmp_path, capsys):
    expected = run.model().get_weights()
    for path in (run.folder, model):
        source = WarmStart.read(path)
        assert source.experiment == run.experiment()
        for weight, other in zip(source.model.get_weights(), expected, strict=True):
            np.testing.assert_array_equal(weight, other)
        values = source.adapted(RECIPE, {"epochs": 1}).values()
        assert values["image_size"] == CHOICES["image_size"] and values["epochs"] == 1
    assert train(data, tmp_path / "run", "--from", model, "--epochs", "1") == 0
    assert Run(tmp_path / "run").description["ended"]
    others = write_classes(tmp_path / "others", labels=["red", "pink"])
    capsys.readouterr()
    assert train(others, tmp_path / "other", "--from", model) == 2
    assert "yellow in train. Received: pink" in capsys.readouterr().err


def test_pretrained_weights_get_a_new_head(data, tmp_path, capsys):
    folder = write_folder(tmp_path / "checkpoint", "classifier")
    patch = json.loads(str(golden("classifier")["config.json"]))["patch_size"]
    size = 5 * patch
    assert train(data, tmp_path / "run", pretrained=folder, image_size=size) == 2
    assert "Expected no pretrained with patch_size" in capsys.readouterr().err
    chosen = {key: value for key, value in CHOICES.items() if key not in SIZES}
    begun = ["train", "vit-classifier", "--data", str(data), "--pretrained", str(folder)]
    begun += flags({**chosen, "epochs": 1})
    assert main([*begun, "--out", str(tmp_path / "run"), "--image-size", str(size)]) == 0
    outputs = Run(tmp_path / "run").model()
    assert (
        outputs.num_classes == 6
        and outputs.encoder.config.patch_size == patch != CHOICES["patch_size"]
    )
    assert main([*begun, "--out", str(tmp_path / "other"), "--image-size", str(size + 1)]) == 2
    assert "Expected image_size divisible by patch_size=" in capsys.readouterr().err


def test_bad_pictures_beyond_the_tolerance(data, tmp_path, capsys):
    bad = shutil.copytree(data, tmp_path / "bad")
    (bad / "train" / "red" / "x.png").write_bytes(b"no picture")
    assert train(bad, tmp_path / "run") == 2
    message = capsys.readouterr().err
    assert "Expected at most 1.0% unusable records. Received: 1 of 43" in message
    assert "x.png is unusable: " in message and not (tmp_path / "run").exists()
    assert train(bad, tmp_path / "run", tolerance=0.03, epochs=1) == 0
    assert "x.png" in (tmp_path / "run" / "skipped.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--image-size", "30"], "Expected image_size divisible by patch_size=8. Received: image"),
        (["--num-heads", "5"], "Expected hidden_dim divisible by num_heads"),
        (["--crop", "0"], "Expected crop > 0 and <= 1. Received: crop=0"),
        (["--monitor", "val_token_accuracy"], "monitor to be one of loss, accuracy, val_loss"),
        (["--patch-size", "0"], "Expected patch_size >= 1. Received: patch_size=0"),
        ([], "Expected data at x. Received: no such file or folder"),
    ],
)
def test_bad_commands(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*TRAIN, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
