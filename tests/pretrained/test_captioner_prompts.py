"""Captioners of transformers that go on from a prompt."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.contracts import (
    CAPTION,
    CROSS_WEIGHTS,
    ERROR,
    SCORE,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
    WEIGHTS,
)
from keras_attn.decoding import Beam, Greedy, decode
from keras_attn.pretrained.captioners import load_captioner
from keras_attn.serving import AnswerLength, GenerationService, readers, writers
from keras_attn.text.prompt_ids import prompt_ids
from tests.pretrained.captioner_folders import GOLDEN, Golden
from tests.quick import rows

CASES = sorted(path.parent.name for path in GOLDEN.glob("*/prompts.npz"))
SEARCHES = ["greedy_11", "beam_11", "greedy_new", "greedy_default"]


@functools.cache
def loaded(case):
    """A golden captioner with its prompt, what is said after it, and the prompt's ids."""
    with np.load(GOLDEN / case / "prompts.npz") as file:
        arrays = dict(file)
    golden = Golden(case, load_captioner(GOLDEN / case, str(arrays["prompt"])))
    pictures = golden.arrays["pictures"]
    golden.arrays = {**arrays, "pictures": pictures}
    captioner = golden.captioner
    return golden, prompt_ids(captioner.tokenizer, captioner.prompt)


def close(actual, expected):
    np.testing.assert_allclose(ops.convert_to_numpy(actual), expected, rtol=1e-5, atol=1e-4)


def strategy_of(captioner, name):
    search = captioner.search
    beam = Beam(4, search["length_alpha"], 4, "average", search["early_stopping"], True)
    return beam if name.startswith("beam") else Greedy()


@pytest.mark.parametrize("case", rows(CASES, {"blip", "gpt2"}))
@pytest.mark.parametrize("name", rows(SEARCHES, {"beam_11"}))
def test_answers_are_those_of_transformers(case, name):
    golden, prompt = loaded(case)
    captioner, pictures = golden.captioner, golden.arrays["pictures"]
    if case == "blip_earlier":
        assert captioner.longest == len(prompt) + 20  # Nothing says how long.
    default = golden.arrays["greedy_default/ids"].shape[-1] - 1 - len(prompt)
    steps = {"greedy_new": 6, "greedy_default": default}.get(name, 11 - 1 - len(prompt))
    prefix = ops.tile(ops.array([prompt], "int32"), (len(pictures), 1))
    found = decode(captioner.model, pictures, strategy_of(captioner, name), steps, prefix=prefix)
    tokens, scores = golden.answers(name, len(prompt) + steps)
    actual = ops.convert_to_numpy(found.tokens)
    np.testing.assert_array_equal(actual[:, : tokens.shape[1]], tokens)
    close(found.scores, scores)
    texts = golden.captioner.tokenizer.decode_all(actual[:, 0])
    assert texts == [str(text).strip() for text in golden.arrays[f"{name}/texts"][:, 0]]
    assert all(text.startswith(captioner.prompt) for text in texts)


def service_of(case, most=10):
    golden, prompt = loaded(case)
    captioner = golden.captioner
    return GenerationService(
        captioner.model,
        readers.PictureReader(captioner.picture_format),
        writers.TextWriter(captioner.tokenizer, sentences=True, prompt=prompt),
        strategy_of(captioner, "beam"),
        AnswerLength(most),
        {"tokenizer": captioner.tokenizer},
        target=CAPTION,
    )


@pytest.mark.systems
@pytest.mark.parametrize("case", rows(["blip", "gpt2"], {"blip"}, "slow"))
def test_a_service_says_the_prompt_and_where_it_looked(case):
    golden, prompt = loaded(case)
    service, pictures = service_of(case), golden.arrays["pictures"]
    encoded = [tf.io.encode_png(picture).numpy() for picture in pictures]
    asked = tf.constant([*encoded[:3], b"no picture"])
    answer = {key: value.numpy() for key, value in service.explain(asked).items()}
    expected, scores = golden.answers("beam_11", 10)
    np.testing.assert_array_equal(answer[TOKENS][:3], expected[:3])
    texts = [text.decode() for text in answer[TEXT][:3, 0]]
    assert texts == [str(text).strip() for text in golden.arrays["beam_11/texts"][:3, 0]]
    close(answer[SCORE][:3], scores[:3])
    assert answer[ERROR][3] and not any(answer[TEXT][3]) and not answer[WEIGHTS][3].any()
    last, places = golden.arrays["cross_weights"][-1].mean(axis=1)[:3], np.prod(service.model.grid)
    for rank in range(4):
        shown = answer[WEIGHTS][:3, rank, : len(prompt)].reshape(3, len(prompt), -1)
        close(shown, last[..., -places:])
    heads = service.attention(asked)[CROSS_WEIGHTS].numpy()
    averaged = heads[:3, -1].mean(axis=1)
    count = answer[WEIGHTS].shape[2]
    padded = np.zeros_like(answer[WEIGHTS][:3, 0])
    padded[:, : averaged.shape[1]] = averaged
    assert averaged.shape[1] <= count
    close(answer[WEIGHTS][:3, 0], padded)


def test_a_caption_is_scored_from_the_end_of_its_prompt():
    golden, prompt = loaded("blip")
    service = service_of("blip")
    picture = tf.io.encode_png(golden.arrays["pictures"][5])
    (text,) = service.answer(picture[None])[TEXT][:, 0].numpy()
    given = tf.constant([text, b"a red stone"])
    scored = service.score(tf.stack([picture, picture]), given)
    assert not any(scored[ERROR].numpy())
    each, best = scored[TOKEN_SCORES].numpy(), service.answer(picture[None])[SCORE][0, 0]
    assert not each[0, : len(prompt)].any() and each[1, : len(prompt)].all()
    length = golden.captioner.search["length_alpha"]
    count = np.count_nonzero(each[0])
    close(scored[SCORE][0] / count**length, best)


def test_prompts_that_cannot_be():
    for prompt, message in (
        ("☃", "Expected a prompt of known pieces. Received: '☃', of unknown pieces"),
        (" ", "Received: ' ', of no pieces"),
        ("the " * 40, "Expected a prompt of fewer than 19 pieces"),
    ):
        with pytest.raises(ValueError, match=message):
            load_captioner(GOLDEN / "blip", prompt)
