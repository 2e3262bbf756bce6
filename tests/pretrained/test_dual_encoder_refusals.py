"""CLIPs that cannot be read as they are meant are refused by name."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_attn.pretrained import load_dual_encoder, load_text_encoder
from tests.pretrained.test_captioner_refusals import change
from tests.pretrained.test_dual_encoders import GOLDEN


@pytest.fixture
def copied(tmp_path):
    """Function from a case to a copy of its folder, without its answers."""

    def copy(case="recent"):
        folder = tmp_path / case
        shutil.copytree(GOLDEN / case, folder, ignore=shutil.ignore_patterns("answers.npz"))
        return folder

    return copy


def check(folder, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_dual_encoder(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("place", "values", "message"),
    [
        ((), {"model_type": "siglip"}, "model_type 'siglip'.*load_vision_transformer"),
        ((), {"model_type": "clip_vision_model"}, "'clip_vision_model'; known: clip"),
        ((), {"model_type": ...}, "no model_type in config.json; known: clip, with both"),
        ((), {"text_config": ...}, "no settings of its text_config"),
        ((), {"made_up": 7}, "a dual encoder .* made_up=7 in config.json"),
        ((), {"projection_dim": "7"}, "Expected projection_dim .* an integer. Received: '7'"),
        ((), {"projection_dim": 5}, r"text_projection\.weight of shape \(7, 10\), expected \(5,"),
        (("text_config",), {"rotary": True}, "rotary=True in config.json"),
        (("text_config",), {"hidden_act": "tanh"}, "hidden_act='tanh', none of"),
        (("text_config",), {"num_attention_heads": 3}, "3 heads in a width of 10"),
        (("text_config",), {"num_hidden_layers": 0}, "num_layers >= 1"),
        (("text_config",), {"num_hidden_layers": 1}, r"text_model\.encoder\.layers\.1\."),
        (("text_config",), {"eos_token_id": 5}, "eos_token_id=5, with a tokenizer that ends"),
        (("text_config",), {"eos_token_id": [5]}, r"eos_token_id .* an integer. Received: \[5\]"),
        (("text_config",), {"vocab_size": 571}, "to have ids < 571, the rows of its table"),
        (("text_config",), {"vocab_size": 997}, r"token_embedding\.weight of shape"),
        (("text_config",), {"max_position_embeddings": 1}, "texts of at most 1 tokens"),
        (("vision_config",), {"image_size": 20}, "15x15 of its processor.* pictures of 20x20"),
        (("vision_config",), {"hidden_act": "tanh"}, "hidden_act='tanh'"),
    ],
)
def test_settings(copied, place, values, message):
    folder = copied()
    change(folder / "config.json", *place, **values)
    check(folder, message)


@pytest.mark.parametrize(
    ("place", "values", "message"),
    [
        (("model",), {"end_of_word_suffix": ""}, "end_of_word_suffix='' of the model"),
        (("model",), {"dropout": 0.1}, r"dropout=0\.1 of the model"),
        (("model",), {"merges": ...}, "no list of merges in tokenizer.json"),
        ((), {"normalizer": None}, "type=None of the normalizer"),
        (("normalizer",), {"normalizers": [{"type": "NFC"}]}, "normalizers=.* of the normalizer"),
        ((), {"pre_tokenizer": {"type": "ByteLevel"}}, "a pre_tokenizer that is not CLIP's"),
        (("pre_tokenizer", "pretokenizers", 0), {"invert": False}, "invert=False"),
        (("pre_tokenizer", "pretokenizers", 0), {"pattern": {"Regex": "x"}}, "pattern="),
        (("pre_tokenizer", "pretokenizers", 1), {"add_prefix_space": True}, "add_prefix_space"),
        (("post_processor",), {"sep": ["</s>", 3]}, "sep=.* of the post_processor"),
        ((), {"post_processor": None}, "type=None of the post_processor"),
        (("added_tokens", 0), {"special": False}, "added tokens that are no special ones"),
    ],
)
def test_tokenizers(copied, place, values, message):
    folder = copied()
    change(folder / "tokenizer.json", *place, **values)
    check(folder, message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"padding_side": "left"}, "padding_side='left' in tokenizer_config.json"),
        ({"truncation_side": "left"}, "truncation_side='left'"),
        ({"pad_token": "!"}, r"special tokens that are signs of texts: \['!'\]"),
        ({"eos_token": "</s>"}, "sep=.* of the post_processor"),
        ({"model_max_length": 1}, "texts of at most 1 tokens"),
    ],
)
def test_settings_of_tokenizers(copied, values, message):
    folder = copied()
    change(folder / "tokenizer_config.json", **values)
    check(folder, message)


def test_text_encoders(copied):
    folder = copied()
    change(folder / "config.json", model_type="clip_vision_model")
    with pytest.raises(ValueError, match="'clip_vision_model'; known: clip, clip_text_model"):
        load_text_encoder(folder)
    change(folder / "config.json", model_type="clip_text_model", text_config=..., vision_config=...)
    with pytest.raises(ValueError, match=r"a text encoder .* logit_scale_init_value="):
        load_text_encoder(folder)


def test_missing_files(copied):
    folder = copied()
    (folder / "tokenizer.json").unlink()
    check(folder, "Expected vocab.json in")
    (folder / "processor_config.json").unlink()
    check(folder, r"no preprocessor_config\.json")
    early = copied("early")
    (early / "merges.txt").unlink()
    check(early, "Expected merges.txt in")


def test_an_early_end_that_is_not_the_last_id(copied):
    folder = copied("early")
    ids = json.loads((folder / "vocab.json").read_text("utf-8"))
    ids["<|startoftext|>"], ids["<|endoftext|>"] = ids["<|endoftext|>"], ids["<|startoftext|>"]
    (folder / "vocab.json").write_text(json.dumps(ids), "utf-8")
    check(folder, "eos_token_id=2, for which .* is not the last of")


@pytest.mark.parametrize(
    ("change_tensors", "message"),
    [
        (lambda t: {k: v for k, v in t.items() if "text_model" not in k}, "a tower for texts"),
        (
            lambda t: {k: v for k, v in t.items() if "vision_model" not in k},
            "a tower for pictures",
        ),
        (lambda t: {k: v for k, v in t.items() if k != "logit_scale"}, r"no logit_scale, .*\(\)"),
        (lambda t: {**t, "logit_bias": np.float32([1])}, "logit_bias of shape .* no such tensor"),
        (
            lambda t: {**t, "text_model.embeddings.position_ids": np.array([[1, 0]])},
            "position_ids other than 0, 1, 2",
        ),
    ],
)
def test_tensors(copied, change_tensors, message):
    folder = copied()
    path = folder / "model.safetensors"
    save_file(change_tensors(load_file(path)), path)
    check(folder, message)
