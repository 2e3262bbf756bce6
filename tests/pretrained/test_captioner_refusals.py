"""Captioners that cannot be read as they are meant are refused by name."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_attn.pretrained import load
from keras_attn.pretrained.captioners import load_captioner
from tests.pretrained.captioner_folders import GOLDEN


@pytest.fixture
def copied(tmp_path):
    """Function from a case to a copy of its folder, without its answers."""

    def copy(case):
        folder = tmp_path / case
        shutil.copytree(GOLDEN / case, folder, ignore=shutil.ignore_patterns("answers.npz"))
        return folder

    return copy


def change(path, *place, **values):
    """Changes values of a JSON file, in the object at a place in it; ... removes one."""
    content = json.loads(path.read_text("utf-8"))
    part = content
    for key in place:
        part = part[key]
    part.update(values)
    for key in [key for key, value in values.items() if value is ...]:
        del part[key]
    path.write_text(json.dumps(content), "utf-8")


def check(folder, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_captioner(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("case", "place", "values", "message"),
    [
        (
            "gpt2",
            (),
            {"model_type": "git"},
            "model_type 'git'; known: vision-encoder-decoder, blip",
        ),
        ("gpt2", (), {"model_type": ...}, "no model_type in config.json"),
        ("gpt2", (), {"decoder": ...}, "no settings of its decoder in config.json"),
        ("gpt2", ("decoder",), {"model_type": "bert"}, "model_type='bert' .* not 'gpt2'"),
        ("gpt2", ("encoder",), {"model_type": "swin"}, "model_type='swin' .* not 'vit' or 'deit'"),
        ("gpt2", ("decoder",), {"scale_attn_weights": False}, "scale_attn_weights=False"),
        (
            *("gpt2", ("decoder",), {"scale_attn_by_inverse_layer_idx": True}),
            "scale_attn_by_inverse_layer_idx=True",
        ),
        (
            "gpt2",
            ("decoder",),
            {"activation_function": "mish"},
            "activation_function 'mish'; known",
        ),
        ("gpt2", ("decoder",), {"n_head": 3}, "3 heads in a width of 10"),
        ("gpt2", ("decoder",), {"n_layer": 3}, "3 layers of the decoder, tensors of 2"),
        ("gpt2", ("decoder",), {"n_inner": "40"}, "n_inner in .* an integer. Received: '40'"),
        (
            *("gpt2", ("decoder",), {"cross_attention_hidden_size": 12}),
            "cross_attention_hidden_size=12, with an encoder of width 12 and a decoder of width 10",
        ),
        ("gpt2", ("encoder",), {"hidden_act": "mish"}, "hidden_act='mish'"),
        ("blip", ("text_config",), {"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ("blip", ("text_config",), {"hidden_act": "mish"}, "hidden_act 'mish'; known"),
        ("blip", ("text_config",), {"num_hidden_layers": 1}, "1 layers in text_config, .* of 2"),
        ("blip", ("vision_config",), {"num_hidden_layers": 3}, "3 layers in vision_config"),
        ("blip", ("text_config",), {"sep_token_id": 999}, "sep_token_id=999, with 72 rows"),
        ("blip", ("text_config",), {"sep_token_id": 0}, "of which some are equal"),
        ("blip", ("vision_config",), {"image_size": 20}, "position_embedding of shape"),
    ],
)
def test_settings(copied, case, place, values, message):
    folder = copied(case)
    change(folder / "config.json", *place, **values)
    if "image_size" in values:
        change(
            folder / "processor_config.json", "image_processor", size={"height": 20, "width": 20}
        )
    check(folder, message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"no_repeat_ngram_size": 3}, "no_repeat_ngram_size=3, which would change its answers"),
        ({"forced_bos_token_id": 5}, "forced_bos_token_id=5"),
        ({"eos_token_id": [3, 4]}, r"eos_token_id=\[3, 4\], not one id"),
        ({"decoder_start_token_id": 999}, "decoder_start_token_id=999, with 300 rows"),
        ({"max_length": 1}, "max_length or max_new_tokens of 1"),
    ],
)
def test_searches(copied, values, message):
    folder = copied("gpt2")
    change(folder / "generation_config.json", **values)
    check(folder, message)


@pytest.mark.parametrize(
    ("place", "values", "message"),
    [
        ((), {"normalizer": {"type": "NFC"}}, "a normalizer in tokenizer.json"),
        (("model",), {"type": "Unigram"}, "type='Unigram' of the model in"),
        (("model",), {"type": None, "merges": None}, "no list of merges in tokenizer.json"),
        (("model",), {"ignore_merges": True}, "ignore_merges=True of the model"),
        (("pre_tokenizer",), {"add_prefix_space": True}, "add_prefix_space=True"),
        (("model", "vocab"), {"Ġzebra": 300}, "ids < 300, the rows .* 300 for 'Ġzebra'"),
        (("model", "vocab"), {"b": ...}, "does not fit its merges: .*256 bytes"),
        (
            *((), {"added_tokens": [{"id": 4, "content": "dog", "special": False}]}),
            r"added tokens that are no special ones: \['dog'\]",
        ),
    ],
)
def test_vocabularies(copied, place, values, message):
    folder = copied("gpt2")
    change(folder / "tokenizer.json", *place, **values)
    check(folder, message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lowercase": False, "strip_accents": True}, "lowercase=False with strip_accents=True"),
        ({"handle_chinese_chars": False}, "handle_chinese_chars=False of the normalizer"),
        ({"type": "Lowercase"}, "type='Lowercase' of the normalizer"),
    ],
)
def test_vocabularies_of_words(copied, values, message):
    folder = copied("blip")
    change(folder / "tokenizer.json", "normalizer", **values)
    check(folder, message)


def test_tensors(copied):
    """Missing, unexpected and of another shape, in one message."""
    folder = copied("gpt2")
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["decoder.more"] = np.zeros(3, "float32")
    del tensors["decoder.transformer.h.1.crossattention.q_attn.bias"]
    tensors["decoder.transformer.wpe.weight"] = np.zeros((5, 10), "float32")
    save_file(tensors, path)
    check(folder, "no decoder.transformer.h.1.crossattention.q_attn.bias, expected shape .10,.")
    check(folder, r"wpe.weight of shape \(5, 10\), expected \(23, 10\)")
    check(folder, r"decoder.more of shape \(3,\), expected no such tensor")
    tensors = load_file(GOLDEN / "gpt2" / "model.safetensors")
    save_file(
        {**tensors, "decoder.lm_head.weight": tensors.pop("decoder.transformer.wte.weight") + 1},
        path,
    )
    check(folder, "wte.weight|no table")
    tied = load_file(GOLDEN / "gpt2" / "model.safetensors")
    save_file({**tied, "decoder.lm_head.weight": tied["decoder.transformer.wte.weight"] + 1}, path)
    check(folder, "decoder.lm_head.weight, which is tied, but differs")
    mask = np.ones((1, 1, 23, 23), "float32")
    save_file({**tied, "decoder.transformer.h.0.attn.bias": mask}, path)
    check(folder, "attn.bias, which is no causal mask")


@pytest.mark.parametrize(
    ("case", "name", "message"),
    [
        ("gpt2", "tokenizer.json", "Expected vocab.json in"),
        ("gpt2_untied", "merges.txt", "Expected merges.txt in"),
        ("gpt2", "preprocessor_config.json", "no preprocessor_config.json"),
        ("blip", "tokenizer.json", "Expected vocab.txt in"),
        ("blip", "processor_config.json", "no preprocessor_config.json"),
    ],
)
def test_missing_files(copied, case, name, message):
    folder = copied(case)
    (folder / name).unlink()
    check(folder, message)


def test_half_a_file(copied):
    for name, message in (
        ("model.safetensors", "Expected a whole .safetensors file"),
        ("tokenizer.json", "tokenizer.json"),
        ("config.json", "config.json"),
    ):
        folder = copied("gpt2")
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])
        check(folder, message)
        shutil.rmtree(folder)


def test_pictures_of_another_size(copied):
    folder = copied("gpt2")
    change(folder / "preprocessor_config.json", size={"height": 15, "width": 20})
    check(folder, "pictures of 15x20 of its processor, an encoder of pictures of 15x15")


def test_load_knows_captioners():
    assert load(GOLDEN / "gpt2").kind == "vision-encoder-decoder"
    with pytest.raises(TypeError, match="source_language"):
        load(GOLDEN / "gpt2", source_language="en")
