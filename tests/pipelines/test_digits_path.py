"""Distorted digits by the command line, on a few that are drawn."""

import hashlib
import json
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.images.picture_format import read_picture
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes.digits_stn import RECIPE
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.warm_start import WarmStart
from keras_attn_pipelines.tasks.classification import digits
from keras_attn_pipelines.tasks.classification.digits import read_digits
from keras_attn_pipelines.tasks.classification.settings import DISTORTED_SIZES
from keras_attn_pipelines.tasks.classification.transformer_film import TransformerFilm
from tests.pipelines.encoded import built, encoded

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TINY = ["--batch-size", "7", "--epochs", "2", "--filters", "3", "--transforms", "affine"]
TINY += ["--dev-share", "0.2"]


def drawn(count, seed):
    """Digits 1, an upright bar, and 7, a lying one."""
    random = np.random.default_rng(seed)
    pictures, labels = np.zeros((count, 28, 28), "uint8"), random.choice([1, 7], count)
    for picture, label in zip(pictures, labels):
        first = random.integers(10, 14)
        long, thin = slice(5, 23), slice(first, first + 4)
        picture[(long, thin) if label == 1 else (thin, long)] = random.integers(150, 256)
    return pictures, labels.astype("uint8")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "bars.npz"
    arrays = {}
    for split, count in (("train", 31), ("test", 11)):
        arrays[f"x_{split}"], arrays[f"y_{split}"] = drawn(count, count)
    np.savez(path, **arrays)
    return path


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "digits-stn", "--data", str(data), "--out", str(out), *TINY]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(run, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "bars"
    assert main(["export", str(run.folder), str(folder), "--data", str(data)]) == 0
    return folder


def test_a_run_has_a_film(run):
    assert run.description["records"] == {"dev": 6, "test": 11, "train": 25}
    assert run.description["unit"] == "digits"
    assert run.vocabularies()["labels"].names == ("1", "7")
    spatial = run.experiment().model.spatial
    assert spatial.transforms == ("affine",) and spatial.bound is None
    names = [entry.name for entry in sorted((run.folder / "film").iterdir())]
    assert names == ["0000.png", "0001.png", "0002.png"]
    with Image.open(run.folder / "film.gif") as film:
        assert film.n_frames == 3 and film.width > 500


def test_evaluate_and_export(run, model, data, tmp_path, capsys):
    scores = []
    for asked in (run.folder, model):
        out = tmp_path / "found.json"
        command = ["evaluate", str(asked), "--data", str(data), "--split", "test"]
        assert main([*command, "--json", str(out)]) == 0
        assert "11 digits of test" in capsys.readouterr().out
        scores.append(json.loads(out.read_text()))
    assert scores[0]["scores"] == scores[1]["scores"]
    assert [answer["image"] for answer in scores[0]["answers"]][:2] == ["test/0", "test/1"]
    assert {answer["label"] for answer in scores[0]["answers"]} == {"1", "7"}
    card = (model / "README.md").read_text()
    assert "a CNN behind spatial transformers (affine)" in card and "digits 25 train" in card


def test_predict_explain_and_crops(model, data, tmp_path, capsys):
    asked = tmp_path / "asked"
    for place, folder in enumerate(("a", "b", "c")):
        (asked / folder).mkdir(parents=True)
        Image.fromarray(drawn(1, place)[0][0]).save(asked / folder / "digit.png")
    Image.fromarray(drawn(1, 5)[0][0]).save(asked / "c" / "digit-2.png")
    (asked / "c" / "none.png").write_bytes(b"no picture")
    (asked / "c" / f"{'l' * 251}.png").write_bytes((asked / "c" / "digit.png").read_bytes())
    command = ["predict", str(model), str(asked), "--crops", str(tmp_path / "crops")]
    assert main(command) == 2
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 5 and "none.png: " in said.err
    actual = sorted(entry.name for entry in (tmp_path / "crops").iterdir() if len(entry.name) < 99)
    assert actual == ["digit-2-2.png", "digit-2.png", "digit-3.png", "digit.png"]
    with Image.open(tmp_path / "crops" / "digit.png") as crop:
        assert crop.size == (28, 28) and crop.mode == "RGB" and crop.getextrema()[0][1] > 50
    assert main(command) == 2
    assert "Expected a new or empty folder for crops" in capsys.readouterr().err
    for bad, message in (("", "Expected a value of --crops"), (str(data), "Expected a folder")):
        assert main([*command[:-1], bad]) == 2
        assert message in capsys.readouterr().err
    command = [*command[:-1], str(tmp_path / "later"), "--json"]
    assert main([*command[:2], str(asked / "c" / "none.png"), *command[3:]]) == 2
    assert not (tmp_path / "later").exists()
    capsys.readouterr()
    assert main([*command[:2], str(asked / "a"), *command[3:]]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["crop"] == str(tmp_path / "later" / "digit.png")
    assert (tmp_path / "later" / "digit.png").is_file()
    ask = ["explain", str(model), str(asked / "a" / "digit.png"), "--out"]
    assert main([*ask, str(tmp_path / "where.png")]) == 0
    assert capsys.readouterr().out.splitlines()[0] in ("1", "7")
    assert main([*ask, str(tmp_path / "no.png"), "--heads", "encoder"]) == 2
    assert "Expected neither heads nor a word" in capsys.readouterr().err
    assert main(["explain", str(model), str(asked / "c" / "none.png"), "--out", "no.png"]) == 2
    assert not (tmp_path / "no.png").exists()


def test_crops_of_what_has_none(data, tmp_path, capsys):
    out, folder = tmp_path / "run", tmp_path / "alone"
    more = [*TINY[:-4], "--transforms", "none", *TINY[-2:]]
    assert main(["train", "digits_stn", "--data", str(data), "--out", str(out), *more]) == 0
    assert not (out / "film").exists()
    assert main(["export", str(out), str(folder), "--no-evaluate"]) == 0
    Image.fromarray(drawn(1, 0)[0][0]).save(tmp_path / "a.png")
    command = ["predict", str(folder), str(tmp_path / "a.png"), "--crops", str(tmp_path / "crops")]
    assert main(command) == 2
    assert "Expected a model with a spatial transformer" in capsys.readouterr().err
    assert not (tmp_path / "crops").exists()


def test_a_run_can_be_gone_on_from(run, data):
    source = WarmStart.read(run.folder)
    recipe = source.adapted(RECIPE, {"epochs": 1})
    assert (recipe.model.spatial.transforms, recipe.model.filters) == (("affine",), 3)
    model = built(recipe, labels=2)
    source.start(recipe, model)
    for weight, other in zip(model.get_weights(), source.model.get_weights()):
        np.testing.assert_array_equal(weight, other)
    with pytest.raises(ValueError, match="Expected distortion='rotation'"):
        source.adapted(RECIPE, {"distortion": "elastic"})


@pytest.mark.parametrize("distortion", DISTORTED_SIZES)
def test_batches_are_a_function_of_their_step(data, distortion):
    recipe = RECIPE.replaced({"batch_size": 7, "distortion": distortion, "dev_share": 0.2})
    loaded = encoded(recipe, data)[2]
    assert loaded.steps == 4
    first = list(loaded.training(0).take(9))
    again = next(iter(loaded.training(6)))
    for value, other in zip(first[6], again):
        np.testing.assert_array_equal(value, other)
    pictures, classes, weights = first[0]
    size = DISTORTED_SIZES[distortion]
    assert pictures.shape == (7, size, size, 3) and pictures.dtype == tf.uint8
    assert classes.dtype == tf.int32 and weights.numpy().tolist() == [1.0] * 7
    assert sum(float(tf.reduce_sum(value[2])) for value in first[:4]) == 25
    assert np.abs(first[0][0].numpy().astype(int) - first[4][0].numpy()).max() > 100


def test_dev_and_test_are_always_the_same(data):
    values = {"dev_share": 0.2, "batch_size": 5}
    recipes = [RECIPE.replaced({**values, "seed": seed}) for seed in (0, 1)]
    dev = [
        [part.numpy() for part in batch]
        for recipe in recipes
        for batch in encoded(recipe, data)[2].dev
    ]
    assert len(dev) == 4 and [value[2].tolist() for value in dev[:2]] == [
        [1.0] * 5,
        [1, 0, 0, 0, 0],
    ]
    for value, other in zip(dev[:2], dev[2:]):
        np.testing.assert_array_equal(value[0], other[0])
    recipe = recipes[0]
    records = recipe.source.split(data, "dev")
    assert [each_record.name for each_record in records[:2]] == ["dev/0", "dev/1"]
    pictures = np.concatenate([value[0] for value in dev[:2]])
    for record, picture in zip(records, pictures):
        encoded_digit = recipe.work.request(record).inputs["image"]
        np.testing.assert_array_equal(read_picture(encoded_digit), picture)
    other = recipe.work.request(recipe.source.split(data, "test")[0]).inputs["image"]
    assert not np.array_equal(read_picture(other), pictures[0])


def test_mnist_is_downloaded_once(data, tmp_path, monkeypatch):
    """As from Keras' own place, by a URL of a file."""
    monkeypatch.setattr(keras.src.utils.file_utils.config, "keras_home", lambda: str(tmp_path))
    monkeypatch.setattr(digits, "ORIGIN", data.as_uri())
    monkeypatch.setattr(digits, "SHA256", hashlib.sha256(data.read_bytes()).hexdigest())
    assert len(read_digits("keras:mnist", 0.2)["train"]) == 25
    assert (tmp_path / "datasets" / "mnist.npz").read_bytes() == data.read_bytes()
    monkeypatch.setattr(digits, "ORIGIN", "file:///nowhere")
    assert len(read_digits("keras:mnist", 0.2)["test"]) == 11
    (tmp_path / "datasets" / "mnist.npz").unlink()
    with pytest.raises(
        OSError, match=r"Expected to download file:///nowhere for keras:mnist .the pa"
    ):
        read_digits("keras:mnist", 0.2)


GOOD = dict(zip(("x_train", "y_train"), drawn(7, 0))) | dict(zip(("x_test", "y_test"), drawn(3, 1)))


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({"x_test": None}, "no x_test"),
        ({"x_train": GOOD["x_train"][..., None]}, r"uint8 \(N, 28, 28\).*uint8 \(7, 28, 28, 1\)"),
        ({"x_test": GOOD["x_test"] / 255}, r"x_test uint8.*float64 \(3, 28, 28\)"),
        ({"y_train": GOOD["y_train"][:5]}, r"y_train integers \(7,\).*uint8 \(5,\)"),
        ({"y_test": GOOD["y_test"] / 2}, r"y_test integers \(3,\).*float64"),
        ({"y_train": np.ones(7, int)}, r"digits of two labels or more.*\['1'\]"),
        ({"x_train": GOOD["x_train"][:1], "y_train": GOOD["y_train"][:1]}, "in the split 'dev'"),
        ({"y_train": np.array([1, 7, 1, 7, 1, 7, 3])}, "labels 1, 7 in train and dev.*: 3"),
        ({"y_train": np.array([{}] * 7)}, "Expected an .npz file of digits"),
    ],
)
def test_files_that_are_not_digits(tmp_path, arrays, message):
    actual = {key: value for key, value in {**GOOD, **arrays}.items() if value is not None}
    np.savez(tmp_path / "bad.npz", **actual)
    with pytest.raises(ValueError, match=message):
        encoded(RECIPE.replaced({"dev_share": 0.2}), tmp_path)


def test_paths_that_lead_to_no_digits(tmp_path):
    for bad in (tmp_path, tmp_path / "no.npz"):
        with pytest.raises(ValueError, match=r"a folder with one, or keras:mnist.*no (such|\.npz)"):
            read_digits(bad, 0.1)
    (tmp_path / "a.npz").write_bytes(b"none")
    with pytest.raises(ValueError, match=r"Expected an .npz file of digits at .*a\.npz"):
        read_digits(tmp_path, 0.1)
    (tmp_path / "b.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"Received: .*, a\.npz, b\.npz"):
        read_digits(tmp_path, 0.1)
    whole = tmp_path / "whole.npz"
    np.savez_compressed(whole, **GOOD)
    flipped = bytearray(whole.read_bytes())
    flipped[300:500] = (value ^ 255 for value in flipped[300:500])
    (tmp_path / "flipped.npz").write_bytes(flipped)
    np.save(tmp_path / "array.npy", np.zeros(3))
    with zipfile.ZipFile(tmp_path / "members.npz", "w") as file:
        for key in GOOD:
            file.writestr(f"{key}.npy", b"no array")
    for name in ("b.npz", "flipped.npz", "array.npy", "members.npz"):
        with pytest.raises(
            ValueError, match=r"Expected (an \.npz file of digits at|x_train uint8)"
        ):
            read_digits(tmp_path / name, 0.1)


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"chooses_by": "eye"}, "Expected chooses_by to be one of features, places"),
        ({"distortion": "bent"}, "Expected distortion to be one of rotation, "),
        ({"transforms": ("turn",)}, r"Expected transforms to be one of translation, .*turn"),
        ({"transforms": ("none", "affine")}, r"or none alone\. Received: transforms=none affine"),
        ({"transforms": ()}, r"Received: transforms=\(\)"),
        ({"read_size": 1}, "Expected read_size between 2 and 4096"),
        ({"read_size": 23}, "Expected read_size between 24 and 256 with 1 in transforms"),
        ({"read_size": 27, "transforms": ("affine",) * 2}, "28 and 256 with 2 in transforms"),
        ({"bound": 0.0}, "Expected bound between 1e-06 and 1e\\+06"),
        ({"bound": float("nan")}, "Expected bound between 1e-06 and 1e\\+06"),
        ({"filters": 0}, "Expected filters >= 1"),
    ],
)
def test_bad_choices(choices, message):
    with pytest.raises(ValueError, match=message):
        RECIPE.replaced(choices)


def test_a_film_of_an_interrupted_training(data, tmp_path):
    """What is damaged or of another size is left out, and stops nothing."""
    recipe = RECIPE.replaced({"filters": 3, "batch_size": 7, "dev_share": 0.2})
    loaded, model = encoded(recipe, data)[2], built(recipe, labels=2)
    model.compile(optimizer=recipe.optimizer.build(8), loss="mse")
    film = TransformerFilm(loaded.extra(), tmp_path)
    film.set_model(model)
    film.on_train_begin()
    for epoch in range(3):
        film.on_epoch_end(epoch)
    frames = sorted((tmp_path / "film").iterdir())
    frames[1].write_bytes(b"")
    Image.new("RGB", (5, 5)).save(frames[2])
    film.on_epoch_end(3)
    with Image.open(tmp_path / "film.gif") as actual:
        assert actual.n_frames == 3
    before = frames[0].read_bytes()
    model.optimizer.iterations.assign(5)
    model.transformers[0].head.bias.assign(np.full(32, 0.2))
    film.on_train_begin()
    assert frames[0].read_bytes() == before
    model.optimizer.iterations.assign(0)
    film.on_train_begin()
    assert frames[0].read_bytes() != before


def test_a_transformer_may_choose_by_places():
    choices = {"filters": 3, "distortion": "cluttered", "transforms": ("affine",)}
    features, places = (
        built(RECIPE.replaced({**choices, "chooses_by": name}), labels=2)
        for name in ("features", "places")
    )
    assert type(places.transformers[0].localization.layers[-1]).__name__ == "SpatialSoftmax"
    assert places.transformers[0].head.kernel.shape == (40, 6)
    assert features.transformers[0].head.kernel.shape == (20, 6)


def test_a_split_that_is_none(run, data, capsys):
    command = ["evaluate", str(run.folder), "--data", str(data), "--split", "new"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "Expected a split of train, dev, test with digits. Received: 'new'" in said
    assert main([*command[:-1], "dev", "--beam-width", "2"]) == 2
    assert (
        "Expected no beam width for a model whose answers need no search" in capsys.readouterr().err
    )
