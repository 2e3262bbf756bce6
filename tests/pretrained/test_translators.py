"""Translators of transformers: weights, tokenizers and answers as there."""

import functools

import numpy as np
import pytest
from keras import ops

from keras_attn.decoding import Beam, FirstToken, ForbiddenTokens, Greedy, MaximumLength, decode
from keras_attn.pretrained.translator_tensors import alternating
from keras_attn.pretrained.translator_vocabulary import SILENT
from keras_attn.pretrained.translators import load_translator
from tests.pretrained.translator_folders import CASES, GOLDEN, LANGUAGES, NATIVE, Golden, answers_in

QUICK = "marian_relu_separate"
"""The case that is also searched in the quick tests: its beams differ most from greedy answers."""
LENGTHS = ["greedy_13", "beam_13"]
LENGTHS += [pytest.param(name, marks=pytest.mark.slow) for name in ("greedy_30", "beam_30")]
SEARCHED = [
    pytest.param(case, marks=[] if case == QUICK else pytest.mark.systems) for case in CASES
]


@functools.cache
def loaded(case):
    return Golden(case, load_translator(GOLDEN / case, *LANGUAGES.get(case, ())))


def close(actual, expected, atol=1e-4):
    np.testing.assert_allclose(ops.convert_to_numpy(actual), expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("case", CASES)
def test_equals_transformers(case):
    """Hidden states, logits, and the weights of every layer and head."""
    golden = loaded(case)
    model, arrays = golden.translator.model, golden.arrays
    real, queries = golden.source != 0, golden.tokens != 0
    hidden, mask = model.encode(golden.source)
    np.testing.assert_array_equal(ops.convert_to_numpy(mask), real)
    width = hidden.shape[-1]
    halves = golden.translator.kind in ("marian", "m2m_100")
    units = alternating(width) if halves else np.arange(width)
    close(hidden[real], arrays["encoder_last_hidden"][..., units][real])
    logits = ops.convert_to_numpy(
        model({"source": golden.source, "tokens": golden.tokens})["logits"]
    )
    spoken = ops.convert_to_numpy(model.decoder.output_bias) > SILENT / 2
    assert not spoken.all()
    rows = golden.translator.rows
    spoken &= rows < arrays["logits"].shape[-1]  # Of languages only those that are needed are kept.
    expected = arrays["logits"][..., rows[spoken]]
    close(logits[queries][:, spoken], expected[queries])
    maps = model.attention({"source": golden.source, "tokens": golden.tokens})
    for kind, asking in (("encoder", real), ("decoder", queries), ("cross", queries)):
        for layer, weights in enumerate(getattr(maps, kind)):
            rows = np.moveaxis(ops.convert_to_numpy(weights), 1, 2)[asking]
            close(rows, np.moveaxis(arrays[f"{kind}_weights"][layer], 1, 2)[asking])


@pytest.mark.parametrize("case", CASES)
def test_texts_have_the_ids_of_transformers(case):
    golden = loaded(case)
    texts = [str(text) for text in golden.arrays["sources"]]
    tokenizer = golden.translator.source_tokenizer
    expected = [[*row[(row != 0) & (row != 3)]] for row in golden.sources]
    rows = tokenizer.encode_all(texts)
    assert golden.plain.sum() >= 5
    assert [row for row, is_plain in zip(rows, golden.plain) if is_plain] == [
        row for row, is_plain in zip(expected, golden.plain) if is_plain
    ]
    assert tokenizer.encode(texts).to_list() == rows


@pytest.mark.parametrize("case", SEARCHED)
@pytest.mark.parametrize("name", LENGTHS)
def test_answers_are_those_of_transformers(case, name):
    golden = loaded(case)
    translator, sources = golden.translator, golden.sources[golden.plain]
    kind, length = name.split("_")
    steps = int(length) - 1
    limits = [FirstToken(token) for token in translator.tokenizer.prefix_ids]
    if translator.ends_for_free:
        limits.append(MaximumLength(np.full(len(sources), steps), True))
    search = translator.search
    beam = Beam(4, search["length_alpha"], 4, "average", search["early_stopping"], True)
    strategy = Greedy() if kind == "greedy" else beam
    result = decode(translator.model, {"source": sources}, strategy, steps, constraints=limits)
    tokens, scores = (array[golden.plain] for array in golden.answers(name))
    actual = ops.convert_to_numpy(result.tokens)
    assert actual.shape[-1] <= steps
    actual, tokens = (
        np.pad(array, ((0, 0), (0, 0), (0, steps - array.shape[-1]))) for array in (actual, tokens)
    )
    np.testing.assert_array_equal(actual, tokens)
    if kind == "greedy" and translator.ends_for_free:  # Without masks that end costs something.
        ended = tokens[..., -1] == 0
        assert ended.any()
        close(ops.convert_to_numpy(result.scores)[ended], scores[ended])
    else:
        close(result.scores, scores)
    texts = translator.tokenizer.decode_all(actual[:, 0])
    shown = golden.arrays[f"{name}/texts"][golden.plain].reshape(len(texts), -1)[:, 0]
    assert texts == [text.strip() for text in shown.tolist()]
    written = translator.tokenizer.decode(actual[:, 0]).numpy()
    assert [text.decode() for text in written] == texts


@pytest.mark.parametrize("case", NATIVE)
def test_marian_s_own_files(case):
    """Normalized after or before the sublayers, with Marian's sinusoids, as a twin answers."""
    arrays = answers_in(case)
    (path,) = (GOLDEN / case).glob("opus*.npz")
    translator = load_translator(path)
    model, rows = translator.model, translator.rows
    assert model.config.normalize_first == case.endswith("pre")
    places = np.zeros(len(rows), "int32")
    places[rows[1:]] = np.arange(1, len(rows))
    sources = np.where(arrays["source_mask"] > 0, places[arrays["source_ids"]], 0)
    texts = [str(text) for text in arrays["sources"]]
    encoded = translator.source_tokenizer.encode_all(texts)
    assert [[*row, 3] for row in encoded] == [[*row[row != 0]] for row in sources]

    expected = arrays["native/encoder_last_hidden"]
    source = sources[: len(expected), : expected.shape[1]]
    hidden, mask = model.encode(source)
    close(hidden[mask], expected[..., alternating(hidden.shape[-1])][source != 0])
    logits = arrays["native/logits"]
    greedy = arrays["native/greedy_ids"]
    tokens = np.where(greedy >= 0, places[greedy], 0)
    steps = tokens.shape[1]
    result = decode(
        model,
        {"source": sources},
        Greedy(),
        steps,
        constraints=[ForbiddenTokens(translator.tokenizer.never)],
    )
    actual = ops.convert_to_numpy(result.tokens)[:, 0]
    np.testing.assert_array_equal(np.pad(actual, ((0, 0), (0, steps - actual.shape[1]))), tokens)
    close(result.scores[:, 0], arrays["native/greedy_scores"])
    assert translator.tokenizer.decode_all(actual) == arrays["native/greedy_texts"].tolist()

    given = arrays["target_ids"][: len(logits), : logits.shape[1] - 1]
    inputs = np.pad(places[given], ((0, 0), (1, 0)), constant_values=2)
    own = ops.convert_to_numpy(model({"source": source, "tokens": inputs})["logits"])
    spoken = rows < logits.shape[-1]
    spoken[[0, 2]] = False
    real = logits.any(axis=-1)  # The twin says nothing after a text.
    close(own[real][:, spoken], logits[real][:, rows[spoken]])
