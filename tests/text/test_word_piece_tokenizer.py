"""BERT's pieces: texts cleaned and cut as there, the longest known pieces from the left."""

import gzip
import random

import numpy as np
import pytest

from keras_attn.text import WordPieceTokenizer

NAMES = ["", "", "", "", "a", "dog", "##s", "##é", "do", "##g", "'", "s", ".", "日", "i", "e", "é"]
HARD = [
    *("", " ", "a" * 100, "a" * 101, "é" * 100, "it's  John'S don't we'll 'd ''s", "##s x##s"),
    *("\t\n x \x0b\x0b y\x1c\x1d", "\x00\x01\x7f", "e\u0301 n\u0303o \u0300\u0301", "ΟΔΟΣ ΣΑΣ"),
    *("日本語 テスト 한국어", "👩\u200d👩\u200d👧 🇩🇪 ☃", "\xa0\xa0x \u3000y", "1234 ½ ² Ⅷ ٣٤"),
    *("a\r\nb", "…—–\"'`", "İstanbul ß ﬁ", "\ufeffx\u200bz", "\u2028\u2029", "(end)-of.it"),
]


def test_words_and_pieces():
    tokenizer = WordPieceTokenizer(NAMES)
    rows = tokenizer.encode_all(["Dogs. a dog's日", "cat dogx", "É\u0301 ÍE", "a\x00\x07", ""])
    assert rows == [[5, 6, 12, 4, 5, 10, 11, 13], [1, 1], [15, 1], [4], []]
    assert tokenizer.decode_all(rows) == ["dogs. a dog ' s 日", "", "e", "a", ""]
    assert WordPieceTokenizer(NAMES, False).encode_all(["É é e", "Dog"]) == [[1, 16, 15], [1]]
    pieces = tokenizer.pieces([[2, 5, 6, 10, 3]]).numpy()[0]
    assert [piece.decode() for piece in pieces] == ["", "▁dog", "s", "▁'", ""]


def test_marks_are_closed_up():
    tokenizer = WordPieceTokenizer(NAMES, closes=True)
    assert tokenizer.decode_all([[5, 10, 11, 12], [6, 5, 6], [12, 5]]) == [
        "dog's.",
        "##s dogs",
        ". dog",
    ]


def test_it_is_saved(tmp_path):
    tokenizer = WordPieceTokenizer(NAMES, lowercase=False, closes=True)
    tokenizer.save(tmp_path)
    again = WordPieceTokenizer.load(tmp_path)
    assert again.equals(tokenizer) and not again.equals(WordPieceTokenizer(NAMES))
    assert (again.lowercase, again.closes) == (False, True)
    assert not again.is_piece(np.array([0, 1, 2, 3, -1, len(NAMES)])).any()


@pytest.mark.parametrize("names", [["", "", "", ""], [*NAMES, "a"]])
def test_vocabularies_that_do_not_fit(names):
    with pytest.raises(ValueError, match="Expected 4 special names, and then others, each once"):
        WordPieceTokenizer(names)


@pytest.fixture(scope="module")
def peer():
    """A tokenizer of the library tokenizers, and ours of the same pieces."""
    tokenizers = pytest.importorskip("tokenizers")

    def learned(texts, size, lowercase):
        made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lowercase)
        made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        made.decoder = tokenizers.decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        trainer = tokenizers.trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=special, show_progress=False
        )
        made.train_from_iterator(texts, trainer)
        names = [made.id_to_token(place) for place in range(4, made.get_vocab_size())]
        return made, WordPieceTokenizer(["", "", "", "", *names], lowercase)

    return learned


def check(theirs, ours, texts):
    rows = theirs.encode_batch(texts, add_special_tokens=False)
    assert ours.encode_all(texts) == [row.ids for row in rows]


@pytest.mark.parametrize("lowercase", [True, False])
def test_hard_texts_have_the_ids_of_tokenizers(peer, lowercase):
    theirs, ours = peer(HARD * 2, 200, lowercase)
    check(theirs, ours, HARD)
    draw = random.Random(1)
    rows = [[draw.randrange(4, ours.vocabulary_size) for _ in range(11)] for _ in range(97)]
    assert ours.decode_all(rows) == [theirs.decode(row).strip() for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de", "fr"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_sentences_have_the_ids_of_tokenizers(peer, data_folder, language, lowercase):
    path = data_folder / "multi30k" / f"train.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [next(file).rstrip("\n") for _ in range(10_000)]
    theirs, ours = peer(texts[:3000], 2000, lowercase)
    check(theirs, ours, texts)
