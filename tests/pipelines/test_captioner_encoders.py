"""Captioners with encoders of other libraries, chosen by flags."""

import json
import shutil

import numpy as np
import pytest

from keras_attn.contracts import METADATA_FILE
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.experiment.picture_options import PictureOptions
from keras_attn_pipelines.experiment.stored import restored, stored
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.recipes.flickr8k_transformer import RECIPE
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.tasks.captioning import KerasHub, PatchTransformer
from tests.pipelines.encoded import built
from tests.pretrained.test_vision_towers import change, write
from tests.recipes.shared import flags

SIZES = {
    "num_encoder_layers": 0,
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


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("data"), train=11, dev=3, test=2, novel=2)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A folder with a tiny ViT of keras-hub for pictures of 20 by 20 pixels."""
    hub = pytest.importorskip("keras_hub")
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 6, "mlp_dim": 7}
    backbone = hub.models.ViTBackbone(image_shape=(20, 20, 3), patch_size=(5, 5), **sizes)
    scaling = {"scale": [0.02, 0.01, 0.03], "offset": -1.0}
    converter = hub.layers.ViTImageConverter(image_size=(20, 20), **scaling)
    preprocessor = hub.models.ViTImageClassifierPreprocessor(converter)
    task = hub.models.ViTImageClassifier(backbone, num_classes=3, preprocessor=preprocessor)
    folder = tmp_path_factory.mktemp("presets") / "vit"
    task.save_to_preset(folder)
    return folder


@pytest.fixture
def clip(tmp_path):
    """A CLIPModel for pictures of 15 by 15 pixels, cut out of 17."""
    folder, size = write(tmp_path / "clip", "clip"), {"shortest_edge": 17}
    change(folder, "preprocessor_config.json", size=size, crop_size=15)
    return folder


def train(data, out, **choices):
    values = flags({**SIZES, **{key: str(value) for key, value in choices.items()}})
    return main(["train", "flickr8k_transformer", "--data", str(data), "--out", str(out), *values])


CLIP_FLAGS = {
    "image_size": 15,
    "fit": "shortest_edge",
    "interpolation": "bicubic",
    "resized_edge": 17,
}


def test_pictures_are_as_the_checkpoint_wants_them(clip):
    part = PatchTransformer(pretrained=str(clip))
    part.check_pictures(PictureOptions(**CLIP_FLAGS))
    message = (
        r"preprocessor_config\.json of '.*clip' has them: --image-size 15 --fit shortest_edge "
        r"--interpolation bicubic --resized-edge 17; or --preprocessing flags .*"
        r"Received: --image-size 15 --fit squash --interpolation bilinear$"
    )
    with pytest.raises(ValueError, match=message):
        part.check_pictures(PictureOptions(image_size=15))
    other = PatchTransformer(pretrained=str(clip), preprocessing="flags")
    other.check_pictures(PictureOptions(image_size=15))
    PatchTransformer().check_pictures(PictureOptions(image_size=15))
    change(clip, "preprocessor_config.json", crop_size={"height": 15, "width": 10})
    with pytest.raises(ValueError, match=r"has them: 15×10 pixels --fit shortest_edge"):
        part.check_pictures(PictureOptions(**CLIP_FLAGS))


@pytest.mark.slow
def test_a_captioner_with_the_eyes_of_clip(clip, data, tmp_path, capsys):
    choices = {"encoder": "vit", "pretrained": clip}
    assert train(data, tmp_path / "other", image_size=15, **choices) == 2
    assert "has them: --image-size 15 --fit shortest_edge" in capsys.readouterr().err
    out = tmp_path / "run"
    assert train(data, out, **choices, **CLIP_FLAGS) == 0
    encoder = Run(out).model().encoder
    assert encoder.config.normalize_embeddings and not encoder.trainable
    shutil.rmtree(clip)  # The run has the weights.
    saved = tmp_path / "models" / "clip"
    assert main(["export", str(out), str(saved), "--no-evaluate"]) == 0
    metadata = json.loads((saved / "1" / METADATA_FILE).read_text())
    assert {**metadata, **CLIP_FLAGS, "image_size": [15, 15]} == metadata
    capsys.readouterr()
    assert main(["predict", str(saved), str(next((data / "images").glob("test*")))]) == 0
    assert "test_0" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.systems
def test_a_captioner_with_a_backbone_of_keras_hub(preset, data, tmp_path):
    choices = {"encoder": "keras_hub", "preset": preset, "image_size": 20}
    assert train(data, tmp_path / "run", **choices) == 0
    model = Run(tmp_path / "run").model()
    assert type(model.encoder).__name__ == "KerasHubEncoder" and model.encoder.offset == -1.0
    saved = tmp_path / "models" / "hub"
    assert main(["export", str(tmp_path / "run"), str(saved), "--no-evaluate"]) == 0


@pytest.mark.systems
@pytest.mark.parametrize("kind", ["random", "file"])
def test_a_captioner_with_a_network_of_keras_applications(kind, tmp_path):
    recipe = RECIPE.replaced({**SIZES, "encoder": "applications", "network": "MobileNet"})
    recipe = recipe.replaced({"image_size": 32, "weights": "random"})
    model = built(recipe, tokenizer=300)
    if kind == "file":
        path = tmp_path / "network.weights.h5"
        model.encoder._feature_network.save_weights(path)
        other = built(recipe.replaced({"weights": str(path)}), tokenizer=300)
        expected = model.encoder.get_weights()
        for value, weight in zip(expected, other.encoder.get_weights(), strict=True):
            np.testing.assert_array_equal(value, weight)
    assert model.encoder.batch_moments
    assert model.encoder(np.zeros((2, 32, 32, 3), "uint8")).shape == (2, 1, 1, 1024)


def test_encoders_by_name():
    assert RECIPE.replaced({"encoder": "keras_hub", "preset": "x"}).model.encoder == KerasHub(
        preset="x"
    )
    with pytest.raises(ValueError, match=r"--preset with --encoder keras_hub"):
        KerasHub().build(32)
    with pytest.raises(
        ValueError, match=r"encoder to be one of efficientnet_lite0, efficientnet_lite2"
    ):
        RECIPE.replaced({"encoder": "resnet"})


def test_encoders_are_read_where_earlier_runs_have_them():
    recipe = load_recipe("flickr8k_vit")
    parts = json.dumps(stored(recipe))
    assert '"experiment.PatchTransformer"' in parts
    earlier = parts.replace('"experiment.Patch', '"captioning.Patch')
    earlier = earlier.replace('"experiment.EncoderTuning', '"captioning.EncoderTuning')
    assert restored(json.loads(earlier)) == recipe
