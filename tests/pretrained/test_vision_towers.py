"""Picture encoders of CLIP, SigLIP, DINOv2, DINOv3 and DeiT answer as transformers does."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops
from safetensors.numpy import load_file, save_file

from keras_attn.contracts import IMAGE, WEIGHTS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.pretrained import load_image_classifier, load_picture_format
from keras_attn.pretrained.vision_transformer import load_vision_transformer
from keras_attn.serving.classifier_functions import picture_functions

GOLDEN = Path(__file__).parents[1] / "golden" / "vision_towers"
FILES = ("model.safetensors", "config.json", "preprocessor_config.json")
NAMES = ["clip", "siglip", "dinov2", "dinov2_gated", "dinov2_registers", "deit"]
ALONE = {"clip": "clip_vision_model", "siglip": "siglip_vision_model"}


def golden(name):
    """The arrays of a model."""
    with np.load(GOLDEN / f"{name}.npz") as arrays:
        return dict(arrays)


def write(folder, name):
    """The folder that `save_pretrained` wrote."""
    folder.mkdir(exist_ok=True)
    for file in FILES:
        (folder / file).write_bytes(golden(name)[file].tobytes())
    return folder


def change(folder, file="config.json", **changes):
    """Changes settings; None removes one."""
    content = {**json.loads((folder / file).read_text()), **changes}
    content = {key: value for key, value in content.items() if value is not None}
    (folder / file).write_text(json.dumps(content))


def retensor(folder, function):
    """Writes what a function makes of the tensors."""
    path = folder / "model.safetensors"
    save_file(function(load_file(path)), path)


def alone(folder):
    """The vision tower of a CLIPModel or SiglipModel as CLIPVisionModel and SiglipVisionModel write
    it."""
    kind = json.loads((folder / "config.json").read_text())
    settings = {**kind["vision_config"], "model_type": ALONE[kind["model_type"]]}
    (folder / "config.json").write_text(json.dumps(settings))
    start = "vision_model."
    retensor(
        folder,
        lambda tensors: {
            name.removeprefix(start): value
            for name, value in tensors.items()
            if name.startswith(start)
        },
    )


def check(encoder, arrays):
    """Features, vector and every head, beside the recorded ones."""
    hidden, image = arrays["last_hidden_state"], arrays["image"]
    _, rows, columns, units = encoder.compute_output_shape(image.shape)
    expected = hidden[:, -rows * columns :].reshape(2, rows, columns, units)
    vector, weights = encoder.pool(image)
    pairs = [(encoder(image), expected), (vector, arrays["pooler_output"])]
    pairs += [(weight, arrays[f"weights/{n}"]) for n, weight in enumerate(weights)]
    assert len(weights) == 2
    for actual, recorded in pairs:
        np.testing.assert_allclose(ops.convert_to_numpy(actual), recorded, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_as_transformers_answers(name, tmp_path):
    arrays, encoder = golden(name), load_vision_transformer(write(tmp_path, name))
    check(encoder, arrays)
    other = {key.removeprefix("other/"): arrays[key] for key in arrays if key.startswith("other/")}
    check(encoder, other)


@pytest.mark.parametrize("name", ["dinov3", "dinov3_gated"])
def test_dinov3_is_for_pictures_of_one_size(name, tmp_path):
    arrays, encoder = golden(name), load_vision_transformer(write(tmp_path, name))
    check(encoder, arrays)
    with pytest.raises(ValueError, match=r"image_size=\(15, 15\), for which the rotary"):
        encoder(np.zeros((2, 10, 25, 3), "uint8"))
    other = {key.removeprefix("other/"): arrays[key] for key in arrays if key.startswith("other/")}
    check(load_vision_transformer(tmp_path, image_size=(10, 25)), other)


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_a_vision_model_alone(name, tmp_path):
    write(tmp_path, name)
    alone(tmp_path)
    check(load_vision_transformer(tmp_path), golden(name))


def test_siglip_without_a_head_is_pooled_by_the_mean(tmp_path):
    alone(write(tmp_path, "siglip"))
    change(tmp_path, vision_use_head=False)
    retensor(tmp_path, lambda tensors: {k: v for k, v in tensors.items() if k[:5] != "head."})
    encoder, arrays = load_vision_transformer(tmp_path), golden("siglip")
    expected = arrays["last_hidden_state"].mean(axis=1)
    np.testing.assert_allclose(encoder.pool(arrays["image"])[0], expected, atol=1e-4)


def test_numbers_of_positions_in_old_files(tmp_path):
    write(tmp_path, "clip")
    name = "vision_model.embeddings.position_ids"
    retensor(tmp_path, lambda tensors: {**tensors, name: np.arange(10)[None]})
    check(load_vision_transformer(tmp_path), golden("clip"))
    retensor(tmp_path, lambda tensors: {**tensors, name: np.arange(1, 11)[None]})
    with pytest.raises(ValueError, match=r"vision_model\.embeddings\.position_ids other than 0"):
        load_vision_transformer(tmp_path)


def test_old_files_of_clip_hold_the_settings_twice(tmp_path):
    write(tmp_path, "clip")
    settings = json.loads((tmp_path / "config.json").read_text())["vision_config"]
    change(tmp_path, vision_config={**settings, "patch_size": 3}, vision_config_dict=settings)
    check(load_vision_transformer(tmp_path), golden("clip"))


def test_old_files_hold_the_settings_of_all_models(tmp_path):
    write(tmp_path, "clip")
    settings = json.loads((tmp_path / "config.json").read_text())["vision_config"]
    more = {"max_length": 20, "num_beams": 1, "length_penalty": 1.0, "top_k": 50, "top_p": 1.0}
    more |= {"return_dict": True, "tie_word_embeddings": True, "pruned_heads": {}, "prefix": None}
    more |= {"id2label": {"0": "LABEL_0"}, "transformers_version": "4.16.0.dev0", "dropout": 0.0}
    change(tmp_path, vision_config={**settings, **more})
    check(load_vision_transformer(tmp_path), golden("clip"))
    change(tmp_path, vision_config={**settings, "pruned_heads": {"0": [1]}})
    with pytest.raises(
        ValueError, match=r"pruned_heads=\{'0': \[1\]\} in config\.json, which is not"
    ):
        load_vision_transformer(tmp_path)


def test_heads_that_read_more_than_the_vector_are_dropped(tmp_path):
    head = {"weight": np.ones((7, 12), "float32"), "bias": np.ones(7, "float32")}
    write(tmp_path, "dinov2")
    retensor(tmp_path, lambda tensors: {**tensors, **{f"classifier.{k}": head[k] for k in head}})
    check(load_vision_transformer(tmp_path), golden("dinov2"))
    with pytest.raises(ValueError, match=r"a checkpoint with a head, or num_classes="):
        load_image_classifier(tmp_path)
    assert load_image_classifier(tmp_path, num_classes=5).head.kernel.shape == (6, 5)
    write(tmp_path, "deit")
    heads = {
        f"{name}.{key}": value[..., :6] if key == "weight" else value
        for name in ("cls_classifier", "distillation_classifier")
        for key, value in head.items()
    }
    retensor(tmp_path, lambda tensors: {**tensors, **{k: v.copy() for k, v in heads.items()}})
    check(load_vision_transformer(tmp_path), golden("deit"))


@pytest.mark.systems
@pytest.mark.parametrize("name", ["clip", "siglip", "dinov2_registers", "dinov3_gated"])
def test_saved_encoders_are_the_same(name, tmp_path):
    encoder, image = load_vision_transformer(write(tmp_path, name)), golden(name)["image"]
    classifier = load_image_classifier(tmp_path, num_classes=3)
    classifier.save(tmp_path / "model.keras")
    restored = keras.saving.load_model(tmp_path / "model.keras").encoder
    assert isinstance(restored, VisionTransformer) and restored.config == encoder.config
    np.testing.assert_array_equal(restored(image), encoder(image))
    np.testing.assert_array_equal(restored.pool(image)[0], encoder.pool(image)[0])


FORMATS = {
    "clip": PictureFormat(224, 224, "shortest_edge", interpolation="bicubic"),
    "siglip": PictureFormat(224, 224, interpolation="bicubic"),
    "dinov2": PictureFormat(224, 224, "shortest_edge", interpolation="bicubic"),
    "deit": PictureFormat(224, 224, interpolation="bicubic", resized_edge=256),
}


@pytest.mark.parametrize("name", list(FORMATS))
def test_picture_formats(name, tmp_path):
    write(tmp_path, name)
    file = json.loads((tmp_path / "preprocessor_config.json").read_text())
    assert load_picture_format(tmp_path) == FORMATS[name]
    change(tmp_path, "preprocessor_config.json", do_resize=False)
    assert load_picture_format(tmp_path) is None
    change(tmp_path, "preprocessor_config.json", do_resize=True)
    named = file["image_processor_type"]
    old = named.replace("Image", "Feature").replace("Processor", "Extractor")
    for kind in ({"image_processor_type": f"{named}Fast"}, {"feature_extractor_type": old}, {}):
        content = {"image_processor_type": None, "size": None, "crop_size": None, **kind}
        change(tmp_path, "preprocessor_config.json", **content)
        assert load_picture_format(tmp_path) == FORMATS[name]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"size": 32, "crop_size": 32}, PictureFormat(32, 32, "shortest_edge")),
        (
            {"size": {"shortest_edge": 36}, "crop_size": {"height": 32, "width": 24}},
            PictureFormat(32, 24, "shortest_edge", resized_edge=36),
        ),
        ({"size": {"height": 9, "width": 7}, "do_center_crop": False}, PictureFormat(9, 7)),
        (
            {"size": {"height": 18, "width": 14}, "crop_size": {"height": 9, "width": 7}},
            PictureFormat(9, 7, resized_edge=14),
        ),
    ],
)
def test_sizes_of_pictures(changes, expected, tmp_path):
    change(write(tmp_path, "clip"), "preprocessor_config.json", resample=2, **changes)
    assert load_picture_format(tmp_path) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resample": 1}, r"resample=1 in preprocessor_config\.json, not 2 \(bilinear\) or 3"),
        ({"resample": True}, r"resample=True"),
        ({"resample": [3]}, r"resample=\[3\]"),
        ({"do_pad": True, "do_flip": 1}, r"do_flip, do_pad in preprocessor_config\.json"),
        ({"image_processor_type": "FlavaImageProcessor"}, r"'FlavaImageProcessor' in .*known: ViT"),
        ({"size": {"shortest_edge": 100}}, r"resized_edge >= 224 for 224x224"),
        ({"do_center_crop": False}, r"\{'shortest_edge': 224\}, and no center crop"),
        ({"size": {"longest_edge": 224}}, r"\{'longest_edge': 224\}, and a center crop"),
        ({"size": {"height": 256, "width": 300}}, r"256x300 resized, 224x224 cut out of it"),
        ({"crop_size": {"edge": 3}}, r"size or crop_size in preprocessor_config\.json: 'height'"),
        ({"size": "large"}, r"size or crop_size in preprocessor_config\.json"),
    ],
)
def test_pictures_that_no_format_describes(changes, message, tmp_path):
    change(write(tmp_path, "clip"), "preprocessor_config.json", **changes)
    with pytest.raises(ValueError, match=message):
        load_picture_format(tmp_path)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "clip",
            {"model_type": "chinese_clip"},
            r"model_type='chinese_clip' in .*none of \('clip'",
        ),
        ("siglip", {"model_type": "siglip2"}, r"any aspect ratio \(NaFlex\)"),
        ("clip", {"vision_config": [3]}, r"vision_config=\[3\]"),
        ("dinov3", {"mlp_bias": False}, r"mlp_bias=False in config\.json"),
        ("dinov3", {"num_attention_heads": 6}, r"width is a multiple of 4"),
        ("dinov3", {"query_bias": False}, r"q_proj\.bias of shape \(12,\), expected no such"),
        ("dinov2", {"model_type": "vit_msn"}, r"model_type='vit_msn' in config\.json, none of"),
        ("dinov2", {"use_swiglu_ffn": True}, r"no encoder\.layer\.0\.mlp\.weights_in\.weight"),
        ("dinov2", {"head_dim": 3}, r"head_dim=3, not 6 / 3"),
        ("dinov2", {"use_rope": True}, r"use_rope=True in config\.json, which is not known here"),
        ("dinov2", {"hidden_act": "mish"}, r"hidden_act='mish'"),
        ("dinov2_registers", {"num_register_tokens": 3}, r"register_tokens of shape \(1, 2, 6\)"),
        ("deit", {"model_type": "vit"}, r"distillation_token.*expected no such tensor"),
        ("deit", {"window": 7}, r"window=7 in config\.json"),
    ],
)
def test_settings_of_another_model(name, changes, message, tmp_path):
    change(write(tmp_path, name), **changes)
    with pytest.raises(ValueError, match=message):
        load_vision_transformer(tmp_path)


def test_nothing_but_the_text_tower_is_left_out(tmp_path):
    write(tmp_path, "clip")
    stray = {"text_models.a": np.ones(3, "float32"), "vision_model.b": np.ones(2, "float32")}
    retensor(tmp_path, lambda tensors: {**tensors, **stray})
    message = r"text_models\.a of shape \(3,\), expected no such tensor; vision_model\.b of shape"
    with pytest.raises(ValueError, match=message):
        load_vision_transformer(tmp_path)


@pytest.mark.parametrize("name", ["clip", "dinov2", "deit"])
def test_without_preprocessing_the_pixels_are_asked_for(name, tmp_path):
    (write(tmp_path, name) / "preprocessor_config.json").unlink()
    message = r"no preprocessor_config\.json beside it, and no pixel_mean=, pixel_deviation="
    with pytest.raises(ValueError, match=message):
        load_vision_transformer(tmp_path)
    pixels = {"pixel_mean": (0.1, 0.2, 0.3), "pixel_deviation": (0.5, 0.6, 0.7)}
    assert load_vision_transformer(tmp_path, **pixels).config.pixel_mean == (0.1, 0.2, 0.3)
    assert load_picture_format(tmp_path) is None


@pytest.mark.parametrize("name", ["clip", "siglip", "dinov2_registers", "deit"])
def test_a_classifier_of_each_eye_has_a_rollout(tmp_path, name):
    """Of the class token, or through the query that pools SigLIP's patches."""
    model = load_image_classifier(write(tmp_path / name, name), 3)
    encoder = model.encoder
    pictures = np.random.default_rng(3).integers(0, 256, (2, *encoder.config.image_size, 3))
    _, weights, scores = encoder.pool(pictures, return_pooling_scores=True)
    places = weights[0].shape[-1]
    rows = np.eye(places)
    for layer in weights:
        mixed = np.array(layer).mean(axis=1) + np.eye(places)
        rows = mixed / mixed.sum(axis=-1, keepdims=True) @ rows
    if name == "siglip":
        seen = (np.array(scores).mean(axis=1)[:, None] @ rows)[:, 0]
    else:
        assert scores is None and places > np.prod(encoder.config.grid)
        seen = rows[:, 0]
    shares = picture_functions(model)["explain"]({IMAGE: pictures})[1][WEIGHTS]
    expected = seen[:, -np.prod(encoder.config.grid) :].reshape(shares.shape)
    np.testing.assert_allclose(shares, expected, atol=1e-5)
