"""Checkpoints that are damaged or of another model are refused before anything is made."""

import json

import numpy as np
import pytest

from keras_attn.pretrained import vision_transformer
from keras_attn.pretrained.vision_transformer import load_image_classifier
from tests.pretrained.vision_files import flax_arrays, state, write_folder


def refused(source, message, monkeypatch, **choices):
    """Asserts one error of this message, before anything is made."""

    def unreachable(config):
        raise AssertionError("a model was made")

    monkeypatch.setattr(vision_transformer, "VisionTransformer", unreachable)
    with pytest.raises(ValueError, match=message) as caught:
        load_image_classifier(source, **choices)
    assert str(source) in str(caught.value)


@pytest.mark.parametrize("name", ["model", "classifier", "timm"])
def test_tensors_that_do_not_fit_are_all_named(name, tmp_path, monkeypatch):
    tensors = state(name)
    missing, wide = list(tensors)[8], list(tensors)[13]
    shape = tensors[wide].shape
    del tensors[missing]
    tensors[wide] = np.zeros((*shape, 3), "float32")
    tensors["stranger"] = np.zeros((3, 5), "float32")
    write_folder(tmp_path, name, tensors)
    parts = [
        rf"model\.safetensors'\. Received: no {missing}, expected shape \(\d.*\)",
        rf"{wide} of shape \({', '.join(map(str, (*shape, 3)))}\), expected \({shape[0]},\)",
        r"stranger of shape \(3, 5\), expected no such tensor",
    ]
    refused(tmp_path, "; ".join(parts), monkeypatch, num_heads=2)


def test_arrays_that_do_not_fit_are_all_named(tmp_path, monkeypatch):
    arrays = flax_arrays()
    del arrays["Transformer/encoderblock_1/MlpBlock_3/Dense_1/bias"]
    arrays["MAPHead_0/probe"] = np.zeros((1, 1, 10))
    arrays["head/bias"] = np.zeros(7, int)
    np.savez(tmp_path / "vit.npz", **arrays)
    message = (
        r"vit\.npz'\. Received: no Transformer/encoderblock_1/MlpBlock_3/Dense_1/bias, expected "
        r"shape \(10,\); head/bias of int64, expected floats; MAPHead_0/probe of shape \(1, 1, 10\)"
    )
    refused(tmp_path, message, monkeypatch)


def test_a_distilled_model_is_named(tmp_path, monkeypatch):
    tensors = {**state("timm"), "dist_token": np.zeros((1, 1, 10), "float32")}
    write_folder(tmp_path, "timm", tensors)
    message = "Received: dist_token, the second class token of a distilled DeiT"
    refused(tmp_path, message, monkeypatch, num_heads=2)


def test_more_than_ten_faults_are_counted(tmp_path, monkeypatch):
    kept = {k: v for k, v in state("timm").items() if not k.startswith("blocks.0.attn")}
    kept |= {f"stranger.{n}": np.zeros(3) for n in range(9)}
    write_folder(tmp_path, "timm", kept)
    refused(tmp_path, "stranger.5 of shape .*; and 3 more", monkeypatch, num_heads=2)


@pytest.mark.parametrize("kept", [0, 7, 1000, -1])
def test_truncated_safetensors(kept, tmp_path, monkeypatch):
    path = write_folder(tmp_path, "classifier") / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    refused(path, r"Expected a whole \.safetensors file at .*Received: .", monkeypatch)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "pickle", "npy"])
def test_damaged_npz(damage, tmp_path, monkeypatch):
    path = tmp_path / "vit.npz"
    np.savez(path, **flax_arrays())
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[500] ^= 255
    if damage == "pickle":
        np.savez(path, cls=np.array([{}], dtype=object))
    elif damage == "npy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    else:
        path.write_bytes({"cut": content[:-50], "empty": b""}.get(damage, content))
    refused(path, r"Expected a whole \.npz file at .*Received: .", monkeypatch)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"hidden_size": 9}, r"projection.weight of shape \(6, 3, 5, 5\), expected \(9, 3, 5, 5\)"),
        ({"hidden_size": 7}, r"hidden_dim divisible by num_heads=3"),
        ({"hidden_act": "mish"}, r"hidden_act='mish', none of \['gelu',"),
        ({"model_type": "swin"}, r"model_type='swin' in config.json, not 'vit' or 'deit'"),
        ({"num_channels": 1}, r"num_channels=1 in config.json, not 3"),
        ({"patch_size": [5, 3]}, r"patch_size >= 1, an int\. Received: patch_size=\[5, 3\]"),
        ({"image_size": None}, r"Received: .*image_size=\(None, None\)"),
        ({"num_hidden_layers": 2}, r"layer\.2.*expected no such tensor"),
        ({"num_hidden_layers": 4}, r"no vit\.encoder\.layer\.3"),
    ],
)
def test_settings_of_another_model(changes, message, tmp_path, monkeypatch):
    write_folder(tmp_path, "classifier")
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, **changes}))
    refused(tmp_path, message, monkeypatch)


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("config.json", "{", r"Expected JSON in .*config\.json"),
        ("config.json", "[]", r"Expected an object in .*config\.json.*Received: a list"),
        ("config.json", "{}", r"no config\.json beside it"),
        ("preprocessor_config.json", '{"image_std": [0, 1, 1]}', r"pixel_deviation of three"),
        ("preprocessor_config.json", '{"image_mean": 3}', r"model\.safetensors.*iterable"),
        ("preprocessor_config.json", '{"do_rescale": false}', r"pixels times 1\.0 in"),
        ("preprocessor_config.json", '{"rescale_factor": "a"}', r"settings of other types"),
    ],
)
def test_damaged_settings(file, text, message, tmp_path, monkeypatch):
    write_folder(tmp_path, "classifier")
    (tmp_path / file).write_text(text)
    refused(tmp_path, message, monkeypatch)


def test_other_models_and_places(tmp_path, monkeypatch):
    write_folder(tmp_path, "timm", {"fc.weight": np.zeros((3, 5))})
    refused(tmp_path, r"Received: tensors fc\.weight… \(1\)", monkeypatch)
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", r"model\.safetensors, .* one \.npz.*Received: \[\]", monkeypatch)
    refused(tmp_path / "none.npz", r"Expected a file, a folder or the name", monkeypatch)
    write_folder(tmp_path, "timm")
    refused(tmp_path, r"pooling='token', chosen: 'mean'", monkeypatch, num_heads=2, pooling="mean")
    refused(tmp_path, r"unexpected keyword argument 'depth'", monkeypatch, num_heads=2, depth=3)
