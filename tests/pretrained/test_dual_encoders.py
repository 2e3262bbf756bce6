"""CLIP of transformers: weights, tokenizers and answers as there."""

import functools
import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops
from safetensors.numpy import load_file, save_file

from keras_attn.images.picture_format import PictureFormat
from keras_attn.pretrained import (
    load,
    load_dual_encoder,
    load_picture_format,
    load_text_encoder,
)
from keras_attn.pretrained.vision_transformer import load_image_classifier

GOLDEN = Path(__file__).parents[1] / "golden" / "dual_encoders"
CASES = ("recent", "early")


@functools.cache
def loaded(case):
    """What was loaded, and what transformers answered."""
    with np.load(GOLDEN / case / "answers.npz") as arrays:
        return load(GOLDEN / case), dict(arrays)


def close(actual, expected, atol=1e-4):
    np.testing.assert_allclose(ops.convert_to_numpy(actual), expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("case", CASES)
def test_texts_have_the_ids_of_transformers(case):
    """Cut and padded, too."""
    clip, arrays = loaded(case)
    tokens = clip.tokens([str(text) for text in arrays["texts"]]).numpy()
    expected = arrays["input_ids"]
    assert clip.longest == expected.shape[1] == tokens.shape[1]
    assert (tokens[3] != 0).all() and tokens[3, -1] == 3  # It was cut.
    np.testing.assert_array_equal(clip.rows[tokens], expected)
    assert clip.tokens(["a"]).shape == (1, 3)


@pytest.mark.parametrize("case", CASES)
def test_equals_transformers(case):
    """Hidden states, heads, vectors and logits."""
    clip, arrays = loaded(case)
    tokens = clip.tokens([str(text) for text in arrays["texts"]])
    real = tokens.numpy() != 0
    hidden, weights = clip.model.text_encoder(tokens, return_attention_scores=True)
    close(ops.convert_to_numpy(hidden)[real], arrays["hidden"][real])
    assert len(weights) == len(arrays["weights"]) == 2
    for own, expected in zip(weights, arrays["weights"]):
        rows = np.moveaxis(ops.convert_to_numpy(own), 1, 2)[real]
        close(rows, np.moveaxis(expected, 1, 2)[real])
    close(clip.model.encode_texts(tokens), arrays["text_embeds"])
    close(clip.model.encode_images(arrays["pictures"]), arrays["image_embeds"])
    close(clip.model({"image": arrays["pictures"], "tokens": tokens}), arrays["logits_per_image"])
    assert clip.picture_format == load_picture_format(GOLDEN / case)
    assert clip.picture_format == PictureFormat(15, 15, "shortest_edge", interpolation="bicubic")


@pytest.mark.parametrize("root", ["", "text_model."])
def test_texts_alone(root, tmp_path):
    """Of a CLIPModel, and as CLIPTextModel and CLIPTextModelWithProjection write it."""
    _, arrays = loaded("recent")
    folder = shutil.copytree(GOLDEN / "recent", tmp_path / "alone")
    settings = json.loads((folder / "config.json").read_text())["text_config"]
    settings["model_type"] = "clip_text_model"
    (folder / "config.json").write_text(json.dumps(settings))
    tensors = load_file(folder / "model.safetensors")
    texts = {name: array for name, array in tensors.items() if name.startswith("text_")}
    if not root:
        del texts["text_projection.weight"]
    texts = {name.replace("text_model.", root): array for name, array in texts.items()}
    save_file(texts, folder / "model.safetensors")
    for source in (folder, GOLDEN / "recent"):
        text = load_text_encoder(source)
        tokens = text.tokens([str(each) for each in arrays["texts"]])
        real = tokens.numpy() != 0
        close(ops.convert_to_numpy(text.model(tokens))[real], arrays["hidden"][real])


def test_it_is_saved_and_its_pictures_can_be_classified(tmp_path):
    clip, arrays = loaded("early")
    clip.model.save(tmp_path / "clip.keras")
    again = keras.saving.load_model(tmp_path / "clip.keras")
    close(again.encode_images(arrays["pictures"]), arrays["image_embeds"])
    classifier = load(GOLDEN / "early", num_classes=3)
    assert type(classifier) is type(load_image_classifier(GOLDEN / "early", 3))
    assert type(load_dual_encoder(GOLDEN / "early").model) is type(again)
