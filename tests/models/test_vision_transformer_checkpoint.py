"""Checkpoints of every kind load whole, and answer as their own library does, or not at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from keras import ops

from keras_attn.models import vision_transformer_checkpoint
from keras_attn.models.vision_transformer_checkpoint import (
    load_image_classifier,
    load_vision_transformer,
)
from tests.models.vision_files import flax_arrays, golden, state, write_folder
from tests.reference import torch_file

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4


def close(found, expected):
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, atol=TOLERANCE)


def check_weights(weights, arrays):
    expected = [arrays[f"weights/{n}"] for n in range(len(weights))]
    assert f"weights/{len(weights)}" not in arrays
    for one, other in zip(weights, expected):
        np.testing.assert_allclose(ops.convert_to_numpy(one), other, atol=TOLERANCE)


def test_vit_model_of_transformers(tmp_path):
    arrays, encoder = golden("model"), load_vision_transformer(write_folder(tmp_path, "model"))
    assert encoder.config.epsilon == 1e-12 and encoder.config.activation == "gelu_tanh"
    hidden = arrays["last_hidden_state"]
    close(encoder(arrays["image"]), hidden[:, 1:].reshape(2, 5, 7, 10))
    vector, weights = encoder.pool(arrays["image"])
    close(vector, arrays["pooler_output"])
    check_weights(weights, arrays)
    encoder.representation = None
    close(encoder.pool(arrays["image"])[0], hidden[:, 0])


@pytest.mark.parametrize("name", ["classifier", "classifier_other"])
def test_classifier_of_transformers_at_both_sizes(name, tmp_path):
    classifier = load_image_classifier(write_folder(tmp_path, "classifier"))
    assert classifier.encoder.config.epsilon == 1e-6
    assert classifier.encoder.config.activation == "gelu"
    arrays = golden(name)
    close(classifier(arrays["image"]), arrays["logits"])
    check_weights(classifier.encoder.pool(arrays["image"])[1], arrays)


def test_the_other_backend_gives_the_same_logits(tmp_path):
    write_folder(tmp_path, "classifier")
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    answer = tmp_path / "logits.npz"
    command = [sys.executable, "-m", "tests.models.vision_files", str(tmp_path), str(answer)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(answer) as found:
        for name in found.files:
            close(found[name], golden(name)["logits"])


def test_timm(tmp_path):
    arrays = golden("timm")
    classifier = load_image_classifier(write_folder(tmp_path, "timm"), heads=2)
    assert classifier.encoder.config.image_size == (15, 15)
    close(classifier(arrays["image"]), arrays["logits"])
    settings = {
        "architecture": "vit_tiny",
        "model_args": {"num_heads": 2},
        "pretrained_cfg": {
            "mean": [0.1, 0.2, 0.3],
            "std": [0.7, 0.6, 0.5],
            "input_size": [3, 15, 15],
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(settings))
    config = load_vision_transformer(tmp_path).config
    assert config.pixel_mean == (0.1, 0.2, 0.3) and config.pixel_deviation == (0.7, 0.6, 0.5)


def test_timm_without_heads_has_heads_of_64(tmp_path):
    write_folder(tmp_path, "timm")
    with pytest.raises(ValueError, match=r"width 10, no multiple of 64, and no heads="):
        load_vision_transformer(tmp_path)


def test_torch_files_of_the_same_names(tmp_path):
    torch_file.write_state(tmp_path / "model.pth", state("timm"))
    classifier = load_image_classifier(tmp_path / "model.pth", heads=2)
    close(classifier(golden("timm")["image"]), golden("timm")["logits"])


@pytest.mark.parametrize("new", [False, True])
def test_files_of_the_authors(new, tmp_path):
    arrays = flax_arrays(new=new)
    np.savez(tmp_path / "vit.npz", **arrays, **({"opt/0/mu": np.zeros(3)} if new else {}))
    loaded = load_image_classifier(tmp_path, activation="gelu")
    assert loaded.encoder.config.heads == 2
    close(loaded(golden("timm")["image"]), golden("timm")["logits"])
    assert load_vision_transformer(tmp_path).config.activation == "gelu_tanh"


def test_files_of_the_authors_without_a_class_token(tmp_path):
    arrays = flax_arrays(new=True)
    del arrays["params/cls"], arrays["params/head/kernel"], arrays["params/head/bias"]
    np.savez(tmp_path / "vit.npz", **arrays)
    encoder = load_vision_transformer(tmp_path / "vit.npz")
    assert encoder.config.pooling == "mean"
    image = golden("timm")["image"]
    close(encoder.pool(image)[0], np.mean(encoder(image), (1, 2)))
    with pytest.raises(ValueError, match=r"a head, or classes=.*vit\.npz"):
        load_image_classifier(tmp_path / "vit.npz")


def test_half_precision_comes_as_float32(tmp_path):
    import ml_dtypes

    halves = {key: one.astype(ml_dtypes.bfloat16) for key, one in state("classifier").items()}
    write_folder(tmp_path, "classifier", halves)
    loaded = load_vision_transformer(tmp_path)
    expected = halves["vit.layernorm.weight"].astype("float32")
    np.testing.assert_array_equal(loaded.last_norm.gamma, expected)
    arrays = {key: one.astype(ml_dtypes.bfloat16) for key, one in flax_arrays().items()}
    np.savez(tmp_path / "vit.npz", **arrays)
    loaded = load_vision_transformer(tmp_path / "vit.npz")
    expected = arrays["Transformer/encoder_norm/scale"].astype("float32")
    np.testing.assert_array_equal(loaded.last_norm.gamma, expected)


def test_a_new_head_for_other_classes(tmp_path):
    write_folder(tmp_path, "classifier")
    classifier = load_image_classifier(tmp_path, classes=11)
    logits = ops.convert_to_numpy(classifier(golden("classifier")["image"]))
    assert logits.shape == (2, 11) and not logits.any()


def test_models_without_biases_of_queries(tmp_path):
    projections = [f"attention.attention.{name}.bias" for name in ("query", "key", "value")]
    kept = {k: v for k, v in state("classifier").items() if not k.endswith(tuple(projections))}
    write_folder(tmp_path, "classifier", kept)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, "qkv_bias": False}))
    attention = load_vision_transformer(tmp_path).blocks[1].attention
    assert not np.any(attention.query_bias) and not np.any(attention.value_bias)
    assert np.any(attention.output_bias)


def test_a_name_of_the_hub_is_downloaded(tmp_path, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    asked = []

    def download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(write_folder(tmp_path / "snapshot", "classifier"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    classifier = load_image_classifier("someone/tiny-vit")
    close(classifier(golden("classifier")["image"]), golden("classifier")["logits"])
    wanted = ["model.safetensors", "config.json", "preprocessor_config.json"]
    assert asked == [("someone/tiny-vit", wanted)]

    def broken(name, allow_patterns):
        raise ConnectionError("no route")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", broken)
    with pytest.raises(OSError, match=r"'someone/tiny-vit', which is no file .*hub: no route"):
        load_image_classifier("someone/tiny-vit")


def refused(source, message, monkeypatch, **choices):
    """Asserts one error of this message, before anything is made."""

    def unreachable(config):
        raise AssertionError("a model was made")

    monkeypatch.setattr(vision_transformer_checkpoint, "VisionTransformer", unreachable)
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
    refused(tmp_path, "; ".join(parts), monkeypatch, heads=2)


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


def test_more_than_ten_faults_are_counted(tmp_path, monkeypatch):
    kept = {k: v for k, v in state("timm").items() if not k.startswith("blocks.0.attn")}
    kept |= {f"stranger.{n}": np.zeros(3) for n in range(9)}
    write_folder(tmp_path, "timm", kept)
    refused(tmp_path, "stranger.5 of shape .*; and 3 more", monkeypatch, heads=2)


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
        ({"hidden_size": 7}, r"model_units that heads=3 divide"),
        ({"hidden_act": "quick_gelu"}, r"hidden_act='quick_gelu', none of \['gelu',"),
        ({"model_type": "deit"}, r"model_type='deit' in config.json, not 'vit'"),
        ({"num_channels": 1}, r"num_channels=1 in config.json, not 3"),
        ({"patch_size": [5, 3]}, r"patch_size >= 1\. Received: patch_size=\[5, 3\]"),
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
    refused(tmp_path / "empty", r"model\.safetensors or .* one \.npz.*Received: \[\]", monkeypatch)
    refused(tmp_path / "none.npz", r"Expected a file, a folder or the name", monkeypatch)
    write_folder(tmp_path, "timm")
    refused(tmp_path, r"pooling='token', chosen: 'mean'", monkeypatch, heads=2, pooling="mean")
    refused(tmp_path, r"unexpected keyword argument 'depth'", monkeypatch, heads=2, depth=3)
