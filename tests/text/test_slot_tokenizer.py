"""A tokenizer that makes one token of each name."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import SlotTokenizer, Tokenizer
from keras_attn.text.slot_tokenizer import MARKS

TEXTS = ["Ada Low was born in Arden in 1815.", "Ben Moss works on optics."]


@pytest.fixture(scope="module")
def tokenizer():
    return SlotTokenizer(Tokenizer.learn(TEXTS, 310), slots=70)


def marked(tokenizer, text, *names):
    """A text with "<n>" for the mark of slot n."""
    text = tokenizer.mark(tokenizer.normalize([text]), tf.constant([names])).numpy()[0].decode()
    for slot in range(tokenizer.slots):
        text = text.replace(chr(MARKS + slot), f"<{slot}>")
    return text


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Ada Low and Ada, Adam", ["Ada", "Ada Low"], "<1> and <0>, Adam"),
        ("AFC Low, A.F.C. Low.", ["A.F.C. Low"], "<0>, <0>."),
        ("Rene Ory or René Őry", ["René Őry"], "<0> or <0>"),
        ("Rene or René", ["Rene"], "<0> or René"),
        ("Bolt (comics) and Bolt", ["Bolt (comics)"], "<0> and <0>"),
        ("(Bolt) was", ["Bolt (comics)"], "(<0>) was"),
        ("5,000 or 5000, not 50000", ["5000"], "<0> or <0>, not 50000"),
        ("(2702.0) or 2702", ["2702.0"], "(<0>) or <0>"),
        ("2702.5", ["2702.0"], "<0>.5"),
        ("the low and Low", ["Low"], "the low and <0>"),
        ("a.b or a+b", ["a.b"], "<0> or <0>"),
        ("anything", ["", "!?", ".*"], "anything"),
        ("東京 と 東京都", ["東京"], "<0> と 東京都"),
        ("2014-15 Low", ["2014–15 Low"], "<0>"),
        ("Low Low", ["Low"], "<0> <0>"),
        ("", ["Low"], ""),
        (f"{'é ' * 500}x", ["é " * 500], "<0> x"),
    ],
)
def test_names_are_found(tokenizer, text, names, expected):
    assert marked(tokenizer, text, *names) == expected


def test_there_and_back(tokenizer):
    names = tf.constant([["Ada Low", "Arden", "1815"], ["Zoë Őry ☂", "", "Ben Moss"]])
    texts = ["Ada Low was born in Arden in 1815.", "Ben Moss works on Zoë Őry ☂"]
    tokens = tokenizer.encode(tokenizer.mark(texts, names))
    slots = [row[row >= 0].tolist() for row in map(np.array, tokenizer.slots_of(tokens).to_list())]
    assert slots == [[0, 1, 2], [2, 0]]
    decoded = tokenizer.decode(tokens)
    read = [text.decode() for text in tokenizer.mark(texts, names).numpy()]
    assert tokenizer.encode_all(read) == tokens.to_list()
    assert tokenizer.decode_all(tokens.to_list()) == [text.decode() for text in decoded.numpy()]
    assert [text.decode() for text in tokenizer.fill(decoded, names).numpy()] == texts
    several = tf.stack([decoded, decoded], axis=1)
    assert tokenizer.fill(several, names).numpy()[1, 0].decode() == texts[1]
    pieces = tokenizer.fill(tokenizer.pieces(tokens.to_tensor()), names).numpy()
    assert pieces[0, 1] == b"Ada Low" and "Zoë Őry ☂".encode() in pieces[1].tolist()
    # Without its name, a slot says nothing.
    assert tokenizer.fill(decoded, names[:, :1]).numpy()[0] == b"Ada Low was born in  in ."


def test_a_name_that_ends_a_sentence_has_one_period(tokenizer):
    names = tf.constant([["Moss Jr.", "Ada"]])
    first, second = (chr(MARKS + slot) for slot in (0, 1))
    for text, expected in {
        f"{first}. {first} {second}..": "Moss Jr. Moss Jr. Ada..",
        f"{first}{first}...": "Moss Jr.Moss Jr...",
        first: "Moss Jr.",
        ".": ".",
        "": "",
    }.items():
        assert tokenizer.fill([text], names).numpy()[0].decode() == expected
    two = tokenizer.fill([[first, "."]], names).numpy()[0].tolist()
    assert two == [b"Moss Jr.", b"."]  # Texts of their own.


def test_every_slot_is_one_token_and_no_other_mark(tokenizer):
    marks = [chr(MARKS + slot) for slot in range(72)]
    tokens = tokenizer.encode(marks)
    slots = tokenizer.slots_of(tokens).to_list()
    assert [row[-1] for row in slots] == [*range(70), -1, -1]
    assert [text.decode() for text in tokenizer.decode(tokens).numpy()] == marks
    assert (
        tokenizer.normalize(marks).numpy().tolist() == ["\N{REPLACEMENT CHARACTER}".encode()] * 72
    )


def test_without_slots_it_is_the_tokenizer(tokenizer):
    plain = tokenizer.plain
    none = SlotTokenizer(plain, 0)
    assert none.vocabulary_size == plain.vocabulary_size
    assert none.encode(TEXTS).to_list() == plain.encode(TEXTS).to_list()
    names = tf.zeros((2, 0), tf.string)
    assert none.fill(none.decode(none.encode(TEXTS)), names).numpy().tolist() == [
        text.encode() for text in TEXTS
    ]
    assert none.mark(TEXTS, names).numpy().tolist() == [text.encode() for text in TEXTS]


def test_saved_and_loaded(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer")
    assert SlotTokenizer.load(tmp_path / "tokenizer").equals(tokenizer)
    assert not SlotTokenizer(tokenizer.plain, 3).equals(tokenizer) and not tokenizer.equals(None)
    tokenizer.plain.save(tmp_path / "plain")
    with pytest.raises(ValueError, match=r"Expected a tokenizer with slots in .*slots\.json"):
        SlotTokenizer.load(tmp_path / "plain")
    with pytest.raises(ValueError, match=r"slots between 0 and 4096\. Received: slots=4097"):
        SlotTokenizer(tokenizer.plain, 4097)
