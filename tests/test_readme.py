"""The README's Python runs."""

import re
from pathlib import Path

import numpy as np

from keras_attn_pipelines.demo.scenes import write_scenes

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks():
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_captioner_in_ten_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_scenes("demo/scenes", train=5, dev=3, test=2, novel=1)
    source = next(block for block in blocks() if "prepare(recipe" in block)
    names = {}
    exec(source, names)
    assert (tmp_path / "saved_models" / "scenes" / "1" / "saved_model.pb").is_file()


def test_one_layer_in_five_lines():
    source = next(block for block in blocks() if "AdditiveAttention" in block)
    names = {}
    exec(source, names)
    context, weights = names["model"].output
    assert tuple(context.shape) == (None, 2) and len(weights.shape) == 2


def test_masks_travel_through_keras_sequential():
    source = next(block for block in blocks() if "TransformerEncoderBlock" in block)
    names = {}
    exec(source, names)
    tokens = np.array([[5, 7, 0, 0], [11, 13, 17, 0]])
    padded = np.pad(tokens, [(0, 0), (0, 3)])
    np.testing.assert_allclose(names["model"](tokens), names["model"](padded), atol=1e-5)


def test_a_model_that_generates():
    source = next(block for block in blocks() if "model.generate" in block)
    names = {}
    exec(source, names)
    assert tuple(names["found"].tokens.shape) == (1, 1, 9)


def test_a_decoded_transformer():
    source = next(block for block in blocks() if "TransformerConfig" in block)
    names = {}
    exec(source, names)
    assert tuple(names["found"].tokens.shape) == (2, 1, 9)


def test_a_decoded_convolutional_model():
    source = next(block for block in blocks() if "CONV_SEQ2SEQ_PRESETS" in block)
    names = {}
    exec(source, names)
    assert tuple(names["found"].weights.shape) == (2, 1, 9, 4)


def test_a_vision_transformer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = next(block for block in blocks() if "PictureHeads" in block)
    names = {}
    exec(source, names)
    assert tuple(names["vector"].shape) == (8, 16)
    assert (tmp_path / "rollout.png").is_file() and (tmp_path / "heads.png").is_file()


def test_a_spatial_transformer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    first, second = (block for block in blocks() if "SpatialTransformer(look" in block)
    exec(first, names)
    exec(second, names)
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF")
    assert names["logits"].shape == (None, 10)


def test_the_clients_compile():
    for source in blocks():
        compile(source, "README.md", "exec")
