"""Captioners of transformers: weights, tokenizers and answers as there."""

import functools
import json
import shutil

import numpy as np
import pytest
from keras import ops

from keras_attn.decoding import Beam, Greedy, decode
from keras_attn.pretrained.captioners import load_captioner
from keras_attn.pretrained.translator_vocabulary import SILENT
from tests.pretrained.captioner_folders import CASES, GOLDEN, Golden

QUICK = ("gpt2", "blip")
"""Cases that are also searched in the quick tests."""
SEARCHED = [
    pytest.param(case, marks=[] if case in QUICK else pytest.mark.systems) for case in CASES
]

LENGTHS = ["greedy_7", "beam_20"]
LENGTHS += [pytest.param(name, marks=pytest.mark.systems) for name in ("greedy_20", "beam_7")]


@functools.cache
def loaded(case):
    return Golden(case, load_captioner(GOLDEN / case))


def close(actual, expected, atol=1e-4):
    np.testing.assert_allclose(ops.convert_to_numpy(actual), expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("case", CASES)
def test_equals_transformers(case):
    """What the decoder attends to, logits, and the weights of every layer and head."""
    golden = loaded(case)
    model, arrays = golden.captioner.model, golden.arrays
    pictures, tokens = arrays["pictures"][: len(golden.tokens)], golden.tokens
    close(model.encode(pictures), arrays["encoder_last_hidden"])
    batch = {"image": pictures, "tokens": tokens}
    logits = ops.convert_to_numpy(model(batch)["logits"])
    said = ops.convert_to_numpy(model.decoder.decoder.output_bias) > SILENT / 2
    assert said[3] and said.all() == case.startswith("blip")
    real = tokens != 0
    close(logits[real][:, said], arrays["logits"][..., golden.captioner.rows[said]][real])
    for layer, weights in enumerate(model.attention(batch).cross):
        rows = np.moveaxis(ops.convert_to_numpy(weights), 1, 2)[real]
        close(rows, np.moveaxis(arrays["cross_weights"][layer], 1, 2)[real])


@pytest.mark.parametrize("case", ["gpt2", "deit"])
def test_attention_is_traced_through_the_weights_of_transformers(case):
    """Rollout, with a class token, and that of DeiT's distillation beside it."""
    golden = loaded(case)
    model, arrays = golden.captioner.model, golden.arrays
    weights = arrays["cross_weights"][-1].mean(axis=1)
    places = weights.shape[-1]
    assert model.traces and places == 9 + {"gpt2": 1, "deit": 2}[case]
    rollout = np.eye(places)
    for layer in arrays["encoder_weights"]:
        mixed = layer.mean(axis=1) + np.eye(places)
        rollout = mixed / mixed.sum(axis=-1, keepdims=True) @ rollout
    traced = model.traced(arrays["pictures"][: len(weights)], weights)
    close(traced, (weights @ rollout)[..., -9:], 1e-5)


def test_early_files_of_tokenizers_do_not_name_their_kind(tmp_path):
    """As those of gpt2 and bert-base-uncased on the hub."""
    for case in QUICK:
        folder = tmp_path / case
        shutil.copytree(GOLDEN / case, folder)
        content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
        del content["model"]["type"]
        (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")
        assert load_captioner(folder).tokenizer.equals(loaded(case).captioner.tokenizer)


@pytest.mark.parametrize("case", CASES)
def test_texts_have_the_ids_of_transformers(case):
    golden = loaded(case)
    tokenizer, arrays = golden.captioner.tokenizer, golden.arrays
    texts = [str(text) for text in arrays["texts"]]
    expected = [golden.places[row[row >= 0]].tolist() for row in arrays["text_ids"]]
    assert tokenizer.encode_all(texts) == expected
    ids = arrays["decode_ids"]
    given = golden.places[ids]
    given[given < 4] = 0
    shown = [str(text).strip(" \t\n\r\x0b\x0c") for text in arrays["decode_texts"]]
    assert tokenizer.decode_all(given) == shown


@pytest.mark.parametrize("case", SEARCHED)
@pytest.mark.parametrize("name", LENGTHS)
def test_answers_are_those_of_transformers(case, name):
    golden = loaded(case)
    captioner, search = golden.captioner, golden.captioner.search
    kind, length = name.split("_")
    steps = int(length) - 1
    beam = Beam(4, search["length_alpha"], 4, "average", search["early_stopping"], True)
    strategy = Greedy() if kind == "greedy" else beam
    result = decode(captioner.model, golden.arrays["pictures"], strategy, steps)
    actual = ops.convert_to_numpy(result.tokens)
    actual = np.pad(actual, ((0, 0), (0, 0), (0, steps - actual.shape[-1])))
    tokens, scores = golden.answers(name, steps)
    np.testing.assert_array_equal(actual, tokens)
    close(result.scores, scores)
    texts = captioner.tokenizer.decode_all(actual[:, 0])
    shown = golden.arrays[f"{name}/texts"].reshape(len(texts), -1)[:, 0]
    assert texts == [str(text).strip() for text in shown]
