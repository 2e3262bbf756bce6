"""GPT-2's byte-level pieces: words as its expression cuts them, merges in their order."""

import gzip
import json
import random

import numpy as np
import pytest

from keras_attn.text import BytePairTokenizer
from keras_attn.text.byte_pairs import byte_alphabet

MERGES = [("Ġ", "a"), ("a", "a"), ("aa", "a"), ("'", "s"), ("Ġ", "Ġ"), ("1", "2")]
HARD = [
    *("", " ", "  ", "a", "a  b", " a", "a ", "aaaaaaa aaaa", "it's  John'S don't we'll 'd ''s"),
    *("\t\n x \x0b\x0b y\x1c\x1d", "\x00\x01\x7f\x01\x02\x01\x03", "e\u0301 n\u0303o \u0300\u0301"),
    *("日本語 テスト 한국어", "👩\u200d👩\u200d👧 🇩🇪 ☃", "\xa0\xa0x \u3000y", "1234 ½ ² Ⅷ ٣٤"),
    *("a\r\nb", "…—–\"'`", "İstanbul ß ﬁ", "\ufeffx\u200bz", "\u2028\u2029", "<|endoftext|> hi"),
]


def named(merges, left_out=()):
    names = [*byte_alphabet(), *dict.fromkeys(map("".join, merges))]
    return ["", "", "", "", *(name for name in names if name not in left_out)]


def known(tokenizer, text):
    """The pieces of a text without the spelling of bytes."""
    return [piece.decode() for piece in tokenizer.pieces(tokenizer.encode([text])[0]).numpy()]


@pytest.fixture(scope="module")
def tokenizer():
    return BytePairTokenizer(named(MERGES), MERGES)


def test_words_and_merges(tokenizer):
    assert known(tokenizer, "aaaa a's  12a") == ["aa", "aa", "▁a", "'s", "▁", "▁", "12", "a"]
    assert known(tokenizer, "   ") == ["▁ ", "▁"]
    assert known(tokenizer, "\n a\xa0") == ["\n", "▁a", "\ufffd", "\ufffd"]


def test_a_pair_that_comes_after_one_with_its_piece():
    """Merges of no training: the first occurrence alone is merged before a pair with its piece."""
    merges = [("ab", "c"), ("abc", "a"), ("b", "c"), ("a", "bc")]
    tokenizer = BytePairTokenizer(named([*merges, ("a", "b")]), merges)
    assert known(tokenizer, "abcabc") == ["abca", "bc"]


def test_texts_come_back(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    again = BytePairTokenizer.load(tmp_path)
    assert again.equals(tokenizer)
    rows = again.encode_all(HARD)
    assert rows == tokenizer.encode_all(HARD)
    assert again.decode_all(rows) == [text.strip(" \t\n\r\x0b\x0c") for text in HARD]
    assert tokenizer.encode([b"\xff", b"a\xe2\x82"]).to_list() == tokenizer.encode_all(
        ["\ufffd", "a\ufffd"]
    )
    assert tokenizer.encode_all([]) == [] and tokenizer.decode_all([[], [0]]) == ["", ""]


def test_ids_that_are_no_text(tokenizer):
    size = tokenizer.vocabulary_size
    (a,) = tokenizer.encode_all(["a"])[0]
    rows = [[a, 0, 1, 2, size, -1, a, 3, a]]
    assert tokenizer.decode_all(rows) == ["aa"]
    assert not tokenizer.is_piece(np.array([0, 1, 2, 3, -1, size])).any()


@pytest.mark.parametrize(
    ("names", "merges", "message"),
    [
        (named(MERGES, ["aa"]), MERGES, r"merges of two pieces .*'a a' and 1 others"),
        (named(MERGES, "z"), MERGES, "a piece for each of 256 bytes.*'z'"),
        (named(MERGES), [*MERGES, ("x", "y")], r"Received: 'x y' and 0 others"),
        ([*named(MERGES), "日"], MERGES, "names in the alphabet of bytes"),
        ([*named(MERGES), "a"], MERGES, "some of them twice"),
    ],
)
def test_vocabularies_that_do_not_fit(names, merges, message):
    with pytest.raises(ValueError, match=message):
        BytePairTokenizer(names, merges)


@pytest.fixture(scope="module")
def peer():
    """A tokenizer of the library tokenizers, and ours of the same pieces."""
    tokenizers = pytest.importorskip("tokenizers")

    def learned(texts, size):
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        made.train_from_iterator(texts, trainer)
        model = json.loads(made.to_str())["model"]
        names = sorted(model["vocab"], key=model["vocab"].get)
        return made, BytePairTokenizer(["", "", "", "", *names], model["merges"])

    return learned


def test_hard_texts_have_the_ids_of_tokenizers(peer):
    theirs, ours = peer(HARD * 2, 400)
    expected = [[token + 4 for token in row.ids] for row in theirs.encode_batch(HARD)]
    assert ours.encode_all(HARD) == expected
    draw = random.Random(1)
    rows = [[draw.randrange(4, 404) for _ in range(11)] for _ in range(97)]
    shown = [theirs.decode([token - 4 for token in row]) for row in rows]
    assert ours.decode_all(rows) == [text.strip(" \t\n\r\x0b\x0c") for text in shown]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_sentences_have_the_ids_of_tokenizers(peer, data_folder, language):
    path = data_folder / "multi30k" / f"train.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [next(file).rstrip("\n") for _ in range(10_000)]
    theirs, ours = peer(texts[:3000], 2000)
    expected = [[token + 4 for token in row.ids] for row in theirs.encode_batch(texts)]
    assert ours.encode_all(texts) == expected
    assert ours.decode_all(expected) == [text.strip(" \t\n\r\x0b\x0c") for text in texts]
