import csv
import gzip
import importlib.util
import json
import shutil

import pytest

from keras_attn.text.ptb_tokenizer import ptb_tokenize
from tests.golden.make_ptb_tokenizer import GOLDEN, PUNCTUATION, java_tokens

CASES = json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("sentence, tokens", CASES, ids=range(len(CASES)))
def test_equals_the_java_tokenizer_on_golden_sentences(sentence, tokens):
    assert ptb_tokenize(sentence) == tokens


@pytest.mark.parametrize("sentence", ["", " ", "\n", " \t ", ". , ; '", "\ufeff", "😀"])
def test_nothing_to_say_gives_no_tokens(sentence):
    assert ptb_tokenize(sentence) == []


def test_a_line_break_counts_as_a_space():
    assert ptb_tokenize("a red\ndog\r\nruns\x0b") == ["a", "red", "dog", "runs"]


def test_spaces_around_a_caption_change_nothing():
    for sentence, tokens in CASES:
        assert ptb_tokenize(f"  {sentence.strip()} ") == tokens


def test_no_token_is_punctuation_or_holds_a_space():
    tokens = {token for sentence, _ in CASES for token in ptb_tokenize(sentence)}
    assert not tokens & set(PUNCTUATION)
    assert not any(" " in token or not token for token in tokens)


def test_a_plain_caption_is_its_lower_cased_words():
    assert ptb_tokenize("Seven Dogs run Over eleven hills") == [
        "seven", "dogs", "run", "over", "eleven", "hills",
    ]  # fmt: skip


def test_every_unicode_character_gives_tokens_without_error():
    for first in range(0, 0x11000, 512):
        points = (p for p in range(first, first + 512) if not 0xD800 <= p < 0xE000)
        ptb_tokenize(" ".join(f"a{chr(point)}b" for point in points))


def read_flickr8k(folder):
    with (folder / "flickr8k" / "captions.csv").open(encoding="utf-8", newline="") as file:
        return [row["caption"] for row in csv.DictReader(file)]


def read_coco_mini(folder):
    path = folder / "coco-mini-ccby" / "captions.json"
    pictures = json.loads(path.read_text(encoding="utf-8"))
    return [caption for picture in pictures for caption in picture["captions"]]


def read_multi30k(folder):
    lines = []
    for split in ("train", "val"):
        with gzip.open(folder / "multi30k" / f"{split}.en.gz", "rt", encoding="utf-8") as file:
            lines += [line.rstrip("\n") for line in file]
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("read", [read_flickr8k, read_coco_mini, read_multi30k])
def test_equals_the_java_tokenizer_on_every_caption_of_a_corpus(read, data_folder):
    if not shutil.which("java"):
        pytest.skip("needs java on the PATH")
    if not importlib.util.find_spec("pycocoevalcap"):
        pytest.skip("needs pycocoevalcap: pip install 'keras-attn[evaluation]'")
    try:
        captions = read(data_folder)
    except FileNotFoundError as error:
        pytest.skip(f"needs {error.filename}; set KERAS_ATTN_DATA to the data folder")
    expected = java_tokens(captions)
    differing = [
        (caption, tokens, ptb_tokenize(caption))
        for caption, tokens in zip(captions, expected)
        if ptb_tokenize(caption) != tokens
    ]
    assert differing == []
