"""Checkpoints of every kind load whole, and answer as their own library does."""

import json

import numpy as np
import pytest
from keras import ops

from keras_attn.pretrained.vision_transformer import (
    load_image_classifier,
    load_vision_transformer,
)
from tests.pretrained.vision_files import flax_arrays, golden, state, write_folder
from tests.processes import run_module
from tests.reference import torch_file

TOLERANCE = 1e-4


def close(actual, expected):
    np.testing.assert_allclose(ops.convert_to_numpy(actual), expected, atol=TOLERANCE)


def check_weights(weights, arrays):
    expected = [arrays[f"weights/{n}"] for n in range(len(weights))]
    assert f"weights/{len(weights)}" not in arrays
    for weight, other in zip(weights, expected):
        np.testing.assert_allclose(ops.convert_to_numpy(weight), other, atol=TOLERANCE)


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


@pytest.mark.systems
def test_the_other_backend_gives_the_same_logits(tmp_path):
    write_folder(tmp_path, "classifier")
    answer = tmp_path / "logits.npz"
    run_module("tests.pretrained.vision_files", tmp_path, answer, backend="jax")
    with np.load(answer) as arrays:
        for name in arrays.files:
            close(arrays[name], golden(name)["logits"])


def test_timm(tmp_path):
    arrays = golden("timm")
    classifier = load_image_classifier(write_folder(tmp_path, "timm"), num_heads=2)
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


def test_timm_without_a_position_of_the_class_token(tmp_path):
    tensors, arrays = state("timm"), golden("timm")
    tensors["cls_token"] = tensors["cls_token"] + tensors["pos_embed"][:, :1]
    tensors["pos_embed"] = np.ascontiguousarray(tensors["pos_embed"][:, 1:])
    write_folder(tmp_path, "timm", tensors)
    settings = {"model_args": {"no_embed_class": True, "num_heads": 2}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    close(load_image_classifier(tmp_path)(arrays["image"]), arrays["logits"])


def test_timm_without_a_class_token_and_no_square(tmp_path):
    tensors = state("timm")
    del tensors["cls_token"]
    tensors["pos_embed"] = tensors["pos_embed"][:, :6].copy()
    write_folder(tmp_path, "timm", tensors)
    with pytest.raises(ValueError, match=r"6 positions, which do not form a square"):
        load_vision_transformer(tmp_path, num_heads=2)
    encoder = load_vision_transformer(tmp_path, num_heads=2, image_size=(10, 15))
    assert encoder.config.pooling == "mean" and encoder.config.grid == (2, 3)
    np.testing.assert_array_equal(encoder.positions.table[1, 0], tensors["pos_embed"][0, 3])


def test_timm_without_heads_has_heads_of_64(tmp_path):
    write_folder(tmp_path, "timm")
    with pytest.raises(ValueError, match=r"width 10, not a multiple of 64, and no num_heads="):
        load_vision_transformer(tmp_path)


def test_torch_files_of_the_same_names(tmp_path):
    torch_file.write_state(tmp_path / "model.pth", state("timm"))
    classifier = load_image_classifier(tmp_path / "model.pth", num_heads=2)
    close(classifier(golden("timm")["image"]), golden("timm")["logits"])


@pytest.mark.parametrize("new", [False, True])
def test_files_of_the_authors(new, tmp_path):
    arrays = flax_arrays(new=new)
    np.savez(tmp_path / "vit.npz", **arrays, **({"opt/0/mu": np.zeros(3)} if new else {}))
    loaded = load_image_classifier(tmp_path, activation="gelu")
    assert loaded.encoder.config.num_heads == 2
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
    with pytest.raises(ValueError, match=r"a head, or num_classes=.*vit\.npz"):
        load_image_classifier(tmp_path / "vit.npz")


def test_half_precision_comes_as_float32(tmp_path):
    import ml_dtypes

    halves = {key: array.astype(ml_dtypes.bfloat16) for key, array in state("classifier").items()}
    write_folder(tmp_path, "classifier", halves)
    loaded = load_vision_transformer(tmp_path)
    expected = halves["vit.layernorm.weight"].astype("float32")
    np.testing.assert_array_equal(loaded.last_norm.gamma, expected)
    arrays = {key: array.astype(ml_dtypes.bfloat16) for key, array in flax_arrays().items()}
    np.savez(tmp_path / "vit.npz", **arrays)
    loaded = load_vision_transformer(tmp_path / "vit.npz")
    expected = arrays["Transformer/encoder_norm/scale"].astype("float32")
    np.testing.assert_array_equal(loaded.last_norm.gamma, expected)


def test_a_new_head_for_other_classes(tmp_path):
    write_folder(tmp_path, "classifier")
    classifier = load_image_classifier(tmp_path, num_classes=11)
    logits = ops.convert_to_numpy(classifier(golden("classifier")["image"]))
    assert logits.shape == (2, 11) and not logits.any()


def test_models_without_biases_of_queries(tmp_path):
    projections = [f"attention.attention.{name}.bias" for name in ("query", "key", "value")]
    kept = {k: v for k, v in state("classifier").items() if not k.endswith(tuple(projections))}
    write_folder(tmp_path, "classifier", kept)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, "qkv_bias": False}))
    attention = load_vision_transformer(tmp_path).blocks[1].attention
    for bias in (attention.query_bias, attention.key_bias, attention.value_bias):
        assert not np.any(bias)
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
    wanted = ["model*.safetensors", "*.json", "*.spm", "*.model", "*.yml"]
    wanted += ["merges.txt", "vocab.txt"]
    assert asked == [("someone/tiny-vit", wanted)]

    def broken(name, allow_patterns):
        raise ConnectionError("no route")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", broken)
    with pytest.raises(OSError, match=r"'someone/tiny-vit', which is not a file .*hub: no route"):
        load_image_classifier("someone/tiny-vit")
