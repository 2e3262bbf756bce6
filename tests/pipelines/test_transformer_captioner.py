"""Captioners that are only Transformers, by the command line: train, reward, export, ask."""

import json

import numpy as np
import pytest
from PIL import Image

from keras_attn.saved.loading import load
from keras_attn.serving import eight_bits
from keras_attn.serving.declared import read_metadata
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes import flickr8k_transformer, flickr8k_vit
from keras_attn_pipelines.runs.run import Run
from tests.images.encoded_pictures import CLAIMING, JPEG, KINDS, REFUSED, claiming
from tests.pipelines.encoded import built
from tests.pipelines.explored import explored
from tests.recipes.shared import flags
from tests.serving.test_eight_bits import every_shape

pytestmark = pytest.mark.systems

SIZES = {
    "image_size": 64,
    "patch_size": 16,
    "num_vision_layers": 1,
    "vision_dim": 6,
    "vision_intermediate_dim": 7,
    "num_vision_heads": 2,
    "num_layers": 1,
    "hidden_dim": 6,
    "intermediate_dim": 7,
    "num_heads": 2,
    "vocabulary_size": 300,
    "lengths": (60,),
    "batch_size": 5,
    "captions_per_picture": 1,
    "beam_width": 2,
    "average": 1,
    "epochs": 1,
    "monitor": "val_loss",
}
FLAGS = flags(SIZES)
HEADS = "Expected heads=cross, rollout, or a word with an optional layer for"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    counts = {"train": 11, "dev": 3, "test": 2, "novel": 2}
    return write_scenes(tmp_path_factory.mktemp("data"), **counts)


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "vit"
    command = ["train", "flickr8k_vit", "--data", str(data), "--out", str(out)]
    assert main([*command, *FLAGS]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "vit"
    assert (
        main(["export", str(run.folder), str(folder), "--storage", "float16", "--no-evaluate"]) == 0
    )
    return folder


def test_predict_explain(model, data, tmp_path, capsys):
    picture = str(data / "images" / "test_00000.png")
    card = (model / "README.md").read_text()
    assert "(a Transformer over the grid of a picture encoder: VisionTransformer, " in card
    capsys.readouterr()
    assert main(["predict", str(model), picture]) == 0
    assert capsys.readouterr().out.startswith(picture)
    out = tmp_path / "explained.png"
    assert main(["explain", str(model), picture, "--out", str(out)]) == 0
    with Image.open(out) as image:
        assert image.width > 300
    mean, heads, traced = explored(model, picture, tmp_path)["views"]
    assert mean["layers"] * mean["heads"] == 1 < heads["layers"] * heads["heads"]
    assert (
        mean["steps"] == heads["steps"] == traced["steps"]
        and len(heads["steps"]) == heads["sums"].shape[2]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shapes", "kind", "words"),
    [
        (every_shape, "int8", ""),
        (
            lambda works: set(),
            "float32",
            "products: float32; no layer is faster in int8 on this machine\n",
        ),
    ],
    ids=["faster", "slower"],
)
def test_products_in_8_bits(run, tmp_path, capsys, monkeypatch, shapes, kind, words):
    monkeypatch.setattr(eight_bits, "faster_shapes", shapes)
    model = tmp_path / "vit"
    assert main(["export", str(run.folder), str(model), "--products", "int8", "--no-evaluate"]) == 0
    said = capsys.readouterr().out
    assert words in said and ("products:" in said) == bool(words)
    card = (model / "1" / "README.md").read_text()
    assert "multiply in 8 bits where that was faster" in card
    assert "metrics are those of float32" in card
    assert read_metadata(model / "1")["products"] == kind


@pytest.mark.slow
def test_searches_by_xla(run, model, data, tmp_path, capsys):
    assert main(["export", str(run.folder), str(tmp_path / "vit"), "--jit", "--no-evaluate"]) == 0
    card = (tmp_path / "vit" / "1" / "README.md").read_text()
    assert "TF Serving needs --xla_cpu_compilation_enabled" in card
    pictures = [data / "images" / f"test_0000{n}.png" for n in (0, 1)]
    compiled, plain = (load(folder).predict(pictures) for folder in (tmp_path / "vit", model))
    assert [each.text for each in compiled] == [each.text for each in plain]


def test_every_head(model, data, tmp_path, capsys):
    """The mean over the heads of the last layer is what `explain` answers."""
    captioner = load(model)
    asked = [(data / "images" / f"test_0000{n}.png").read_bytes() for n in (0, 1)] + [b"<html>"]
    for answer, explained in zip(
        *(captioner.ask(name, image=asked) for name in ("attention", "explain"))
    ):
        heads, count = answer["cross_weights"], len(answer["pieces"])
        assert heads.shape == (1, 2, count, 4, 4) and answer["error"] == explained["error"]
        assert answer["text"] == explained["text"][0]
        np.testing.assert_allclose(
            heads[-1].mean(axis=0), explained["weights"][0, :count], atol=1e-4
        )
        real = [piece for piece in answer["pieces"] if piece]
        np.testing.assert_allclose(heads.sum((3, 4))[..., : len(real)], 1, atol=1e-4)
        assert not heads[:, :, len(real) :].any()
    picture, out = str(data / "images" / "test_00000.png"), tmp_path / "heads.png"
    ask = ["explain", str(model), picture, "--out", str(out)]
    for given, message in (
        (["--heads", "encoder"], HEADS),
        (["--heads", ""], "Expected a value of --heads"),
        (["--heads", "cross", "--word", "a"], HEADS),
        (["--layer", "1"], HEADS),
        (["--word", "no-such-word"], "Expected a word of "),
    ):
        assert main([*ask, *given]) == 2
        assert message in capsys.readouterr().err and not out.exists()
    said = captioner.ask("attention", image=asked[:1])[0]["text"]
    assert main([*ask, "--heads", "cross"]) == (0 if said else 2) and out.exists() == bool(said)


def test_pictures_of_every_kind_and_damaged_ones(model):
    damaged = [b"", b"<html>", JPEG[: len(JPEG) // 2], KINDS["png"][:60], KINDS["webp"][:40]]
    damaged += [claiming(kind, 16000, 15000) for kind in CLAIMING] + list(REFUSED.values())
    asked = [*damaged, *KINDS.values()]
    captioner = load(model)
    for signature in ("serving_default", "explain"):
        answers = captioner.ask(signature, image=asked)
        errors = [each_answer["error"].decode() for each_answer in answers]
        assert all(errors[: len(damaged)]) and not any(errors[len(damaged) :])
        assert all(each_answer["text"][0] == b"" for each_answer in answers[: len(damaged)])
        for data, answer in list(zip(asked, answers))[len(damaged) :]:
            alone = captioner.ask(signature, image=[data])[0]
            assert alone["text"][0] == answer["text"][0]
            assert alone["score"][0] == pytest.approx(answer["score"][0], abs=1e-3)


@pytest.mark.slow
def test_self_critical(run, data, tmp_path, capsys):
    """With a resting encoder that reads changed pictures: only features of dev are cached."""
    out, cache = tmp_path / "rewarded", tmp_path / "cache"
    command = ["train", "flickr8k_vit", "--data", str(data), "--out", str(out)]
    stage = ["--from", str(run.folder), "--self-critical", "2", "--lengths", "7"]
    stage += ["--no-fine-tune", "--flip", "--crop", "0.7", "--cache", str(cache)]
    assert main([*command, *FLAGS, *stage]) == 0
    head = (out / "history.csv").read_text().splitlines()[0].split(",")
    assert {"loss", "reward", "val_loss", "val_cider_d"} <= set(head)
    assert [np.load(path).shape for path in cache.glob("*.npy")] == [(3, 16, 6)]
    before, after = (value.model().encoder.get_weights() for value in (run, Run(out)))
    assert all(np.array_equal(own, value) for own, value in zip(before, after))
    actual = tmp_path / "dev.json"
    assert main(["evaluate", str(out), "--data", str(data), "--json", str(actual)]) == 0
    assert len(json.loads(actual.read_text())["captions"]) == 3
    assert main([*command, *FLAGS, *stage, "--self-critical", "1"]) == 2
    assert "Expected self_critical >= 2 or 0" in capsys.readouterr().err


def test_models():
    recipe = flickr8k_vit.RECIPE.replaced(SIZES)
    made = built(recipe.replaced({"num_encoder_layers": 1}), tokenizer=300)
    assert made.grid == (4, 4) and made.decoder.encoder is not None
    with pytest.raises(ValueError, match=r"multiples of patch_size=16. Received: image_size=\(65"):
        built(recipe.replaced({"image_size": 65}), tokenizer=300)
    with pytest.raises(ValueError, match=r"hidden_dim divisible by num_heads. .*hidden_dim=6"):
        flickr8k_transformer.RECIPE.replaced({"hidden_dim": 6, "num_heads": 4})
