"""CLIP's byte-level pieces: words in lower case, with ends of their own."""

import csv
import gzip

import numpy as np
import pytest

from keras_attn.text import ClipTokenizer
from keras_attn.text.byte_pairs import byte_alphabet
from tests.text.test_byte_pair_tokenizer import HARD

MERGES = [("a", "a"), ("a", "a</w>"), ("'", "s</w>"), ("c", "a"), ("ca", "t</w>")]
HARDER = [
    *HARD,
    *('"\'s"', "IT'S 'LL ''VE", "ΟΔΟΣ ΣΑΣ", "Ǆ ǅ ẞ ŉ", "Å \u212b A\u030a", "<|startoftext|>a"),
    *("<|endoftext|", "a" * 97 + " " * 31 + "!" * 53, "x_y-z@w.de http://a.b/c?d=1&e=%20"),
    *("😀😃 ❤\ufe0f 1\ufe0f⃣ 🏳\ufe0f\u200d🌈", "का कि की \u0915\u094d\u0937", "ภาษาไทย", "مرحبا ٣"),
]


def named(merges, left_out=()):
    signs = byte_alphabet()
    names = [*signs, *(sign + "</w>" for sign in signs), *map("".join, merges)]
    return ["", "", "", "", *(name for name in names if name not in left_out)]


@pytest.fixture(scope="module")
def tokenizer():
    return ClipTokenizer(named(MERGES), MERGES)


def test_words_and_merges(tokenizer):
    tokens = tokenizer.encode(["  AA aaa\tCat's 12\u3000cat", ""])
    shown = [piece.decode() for piece in tokenizer.pieces(tokens[0]).numpy()]
    assert shown == ["aa▁", "aa", "a▁", "cat▁", "'s▁", "1▁", "2▁", "cat▁"]
    assert tokens[1].shape == (0,)
    assert tokenizer.decode(tokens).numpy().tolist() == [b"aa aaa cat 's 1 2 cat", b""]


def test_texts_come_back(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    again = ClipTokenizer.load(tmp_path)
    assert again.equals(tokenizer)
    texts = ["a dog , e\u0301 n", "日本", "x\0 \x01y"]
    assert again.normalize_all(texts) == ["a dog , \xe9 n", "日本", "x \0 \x01 y"]


def test_ids_that_are_no_text(tokenizer):
    size = tokenizer.vocabulary_size
    (a,) = tokenizer.encode_all(["a"])[0]
    assert tokenizer.decode_all([[a, 0, 1, 2, size, -1, a, 3, a]]) == ["a a"]
    assert not tokenizer.is_piece(np.array([0, 1, 2, 3, -1, size])).any()


@pytest.mark.parametrize(
    ("names", "merges", "message"),
    [
        (named(MERGES, ["aa</w>"]), MERGES, r"merges of two pieces .*'a a</w>' and 0 others"),
        (named(MERGES, ["z</w>"]), MERGES, "a piece for each of 256 bytes.*'z</w>'"),
        ([*named(MERGES), "日</w>"], MERGES, "names in the alphabet of bytes"),
        ([*named(MERGES), "</w>"], MERGES, "names in the alphabet of bytes"),
    ],
)
def test_vocabularies_that_do_not_fit(names, merges, message):
    with pytest.raises(ValueError, match=message):
        ClipTokenizer(names, merges)


@pytest.fixture(scope="module")
def peer():
    """A CLIPTokenizer of transformers, and ours of the same pieces."""
    pytest.importorskip("transformers")
    from tests.golden import clip_words

    def made(texts, size):
        vocabulary, merges = clip_words.learned(texts, size)
        special = (clip_words.START, clip_words.END)
        names = [name for name in vocabulary if name not in special]
        from transformers import CLIPTokenizer

        theirs = CLIPTokenizer(vocab=vocabulary, merges=merges)
        return theirs, ClipTokenizer(["", "", "", "", *names], merges)

    return made


def check(theirs, ours, texts):
    """Ids of texts, and texts of ids, beside those of transformers."""
    rows = theirs(texts, add_special_tokens=False)["input_ids"]
    expected = [[token + 4 for token in row] for row in rows]
    wrong = [text for text, row, own in zip(texts, expected, ours.encode_all(texts)) if row != own]
    assert not wrong
    shown = [theirs.decode(row, clean_up_tokenization_spaces=False) for row in rows]
    assert [text.strip() for text in ours.decode_all(expected)] == shown


@pytest.mark.systems
def test_hard_texts_have_the_ids_of_transformers(peer):
    special = ("<|endoftext|>", "<|startoftext|>")
    texts = [text for text in HARDER if not any(name in text for name in special)]
    theirs, ours = peer(texts * 2, 700)
    check(theirs, ours, texts)
    assert theirs("<|endoftext|>", add_special_tokens=False)["input_ids"] != [
        [token - 4 for token in row] for row in ours.encode_all(["<|endoftext|>"])
    ]


def sentences(folder, name, count=10_000):
    """Captions of Flickr8k, or sentences of Multi30k in a language."""
    if name == "flickr8k":
        with (folder / "flickr8k" / "captions.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
        return [row[-1] for row in rows[:count]]
    path = folder / "multi30k" / f"train.{name}.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [next(file).rstrip("\n") for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flickr8k", "en", "de", "fr"])
def test_sentences_have_the_ids_of_transformers(peer, data_folder, name):
    texts = sentences(data_folder, name)
    theirs, ours = peer(texts[:3000], 2500)
    check(theirs, ours, texts)
