"""The tokenizer: inversion on any Unicode text, special ids, the same in a SavedModel."""

import unicodedata

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_attn.contracts import END_ID, PAD_ID, START_ID
from keras_attn.text import tokenizer as tokenizer_module
from keras_attn.text.tokenizer import Tokenizer

TEXTS = ["A red circle left of a blue square", "two dogs run", "Ein Haus, größer als der Baum"]


NEWER = {c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Cn"}
NEWER |= set(map(chr, [0x2C2F, 0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8, *range(0x10570, 0x10596)]))
"""Characters newer than Python's Unicode, or than that of TensorFlow's lower case."""


@pytest.fixture(scope="module", params=[False, True], ids=["cased", "lowercase"])
def tokenizer(request):
    return Tokenizer.learn(TEXTS, 320, lowercase=request.param)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("a\0b")
@example("\u2581a\u2581\u2581b ")
@example("<s> </s> <pad> <unk> <0x41>")
@example("ﬁne ℌ  ① İstanbul ẞ \u1e9e")
@example("\u0345\u0301e\u0301 \u200d \ufeff \ue000 \U0010ffff")
def test_decode_inverts_encode(tokenizer, text):
    normalized = tokenizer.normalize([text])
    tokens = tokenizer.encode([text])
    assert tokenizer.decode(tokens).numpy()[0].decode() == normalized.numpy()[0].decode()
    assert tokenizer.decode_all(tokens.to_list()) == [normalized.numpy()[0].decode()]
    if not set(text) & NEWER:
        assert tokenizer.encode_all([text]) == tokens.to_list()


def test_declared_normalization():
    tokenizer = Tokenizer.learn(TEXTS, 300, lowercase=True)
    texts = ["a\0b", "\u2581x\u2581y", " \t two\r\n words ", "ﬁ ＡB", b"\xffz", ""]
    normalized = [text.decode() for text in tokenizer.normalize(texts).numpy()]
    assert normalized == ["a b", "x y", "two words", "fi ab", "\ufffdz", ""]


def test_decode_stops_at_end_and_drops_special_ids(tokenizer):
    ids = tokenizer.encode(["two dogs"]).to_list()[0]
    row = [START_ID, *ids, END_ID, *ids, PAD_ID]
    rows = np.array([[row, [PAD_ID] * len(row)]], "int32")
    assert tokenizer.decode(rows).numpy().tolist() == [[b"two dogs", b""]]
    pieces = tokenizer.pieces(rows).numpy()[0, 0]
    assert pieces[0] == b"" and b"".join(pieces[1 : 1 + len(ids)]).decode() == "▁two▁dogs"


def test_lists_are_decoded_as_tensors_are(tokenizer):
    (ids,) = tokenizer.encode_all(["two dogs"])
    odd = [PAD_ID, tokenizer.vocabulary_size, *ids[2:], 5]
    rows = np.array([[START_ID, *ids, END_ID, *ids], [*ids, *odd, *ids[:1]]], "int32")
    assert tokenizer.decode_all(rows) == [text.decode() for text in tokenizer.decode(rows).numpy()]
    assert tokenizer.encode_all([]) == tokenizer.decode_all([]) == []
    assert tokenizer.encode_all([" "]) == [[]] and tokenizer.decode_all([[], [PAD_ID]]) == ["", ""]
    assert tokenizer.decode_all([[], ids]) == ["", "two dogs"]


def test_all_characters_are_normalized_alike(tokenizer):
    known = [c for c in map(chr, range(0x110000)) if not (c in NEWER or 0xD800 <= ord(c) < 0xE000)]
    texts = [" a".join(known[place : place + 64]) for place in range(0, len(known), 64)]
    expected = [text.decode() for text in tokenizer.normalize(texts).numpy()]
    assert tokenizer.normalize_all(texts) == expected
    assert tokenizer.normalize_all(["ΑΣ ΑΣΑ\ud800"]) == [
        text.decode() for text in tokenizer.normalize(["ΑΣ ΑΣΑ\ufffd"]).numpy()
    ]


def test_save_and_load(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer")
    again = Tokenizer.load(tmp_path / "tokenizer")
    assert again.lowercase == tokenizer.lowercase
    assert again.encode(TEXTS).to_list() == tokenizer.encode(TEXTS).to_list()


def test_in_saved_model(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    signature = [tf.TensorSpec((None,), tf.string)]
    module.there_and_back = tf.function(
        lambda texts: tokenizer.decode(tokenizer.encode(texts)), input_signature=signature
    )
    tf.saved_model.save(module, tmp_path / "saved")
    loaded = tf.saved_model.load(tmp_path / "saved")
    text = loaded.there_and_back(tf.constant(["Two ☂ dogs"])).numpy()[0]
    assert text == tokenizer.normalize(["Two ☂ dogs"]).numpy()[0]


def test_survives_a_new_seed(tokenizer):
    encode = tf.function(tokenizer.encode)
    before = encode(tf.constant(TEXTS)).to_list()
    tf.random.set_seed(7)
    assert encode(tf.constant(TEXTS)).to_list() == before


def test_bad_input():
    with pytest.raises(ValueError, match="Received: vocabulary_size=260"):
        Tokenizer.learn(TEXTS, 260)
    with pytest.raises(ValueError, match="at least one text"):
        Tokenizer.learn(["", " "], 300)
    import io

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=model, vocab_size=30, minloglevel=2
    )
    with pytest.raises(ValueError, match="Expected special ids"):
        Tokenizer(model.getvalue())


def test_short_texts_are_enough_to_learn_from():
    tokenizer = Tokenizer.learn(["cat", "dog"], 270)
    assert tokenizer.decode(tokenizer.encode(["dog"])).numpy()[0] == b"dog"


def test_ids_there_are_not_give_nothing():
    tokenizer = Tokenizer.learn(["a red circle"], 270)
    word = tokenizer.encode(["red"]).to_list()[0]
    ids = [[-1, tokenizer.vocabulary_size, 2**30, *word]]
    assert tokenizer.decode(ids).numpy()[0] == b"red"
    assert tokenizer.pieces(ids).numpy()[0, :3].tolist() == [b"", b"", b""]


def test_of_too_many_texts_some_are_left_out_evenly(monkeypatch):
    texts = [f"{place} a red circle" for place in range(23)]
    monkeypatch.setattr(tokenizer_module, "LEARNED", 7)
    one, other = (Tokenizer.learn(iter(given), 300) for given in (texts, texts[::4]))
    assert one.equals(other) and not one.equals(Tokenizer.learn(texts[:7], 300))
