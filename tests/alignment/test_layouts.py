"""Layouts in which people have links and sentence pairs."""

import pytest

from keras_attn.alignment import read_gold, read_pairs
from keras_attn.alignment.error_rate import Gold

SENTENCES = [("das", "Haus"), ("das", "Buch")], [("the", "house"), ("the", "book")]
GOLD = {
    "possible": ("0-0 1p1\n0-0 1?1\n", 0, [([(0, 0)], [(1, 1)])] * 2),
    "from 1": ("1-1 2p2\n1-1 2-2\n", 1, [([(0, 0)], [(1, 1)]), ([(0, 0), (1, 1)], [])]),
    "scores": ("0-0:0.93 1-1:0.71\n0-0:0.99 1-1:1e-3\n", 0, [([(0, 0), (1, 1)], [])] * 2),
    "NAACL": (
        "0001 1 1 S\n0001 2 2\n0002 1 1 S 0.5\n0002 2 2 P\n",
        0,
        [([(0, 0), (1, 1)], []), ([(0, 0)], [(1, 1)])],
    ),
}


@pytest.mark.parametrize("name", GOLD)
def test_gold(name, tmp_path):
    text, base, expected = GOLD[name]
    path = tmp_path / "gold.txt"
    path.write_text(text)
    gold, errors = read_gold(path, *SENTENCES, base=base)
    assert gold == [Gold.of(sure, possible) for sure, possible in expected] and not errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1-1 2-2\n1-1\n", r"line 1: 2-2; if the first word is 1, base=1 \(--gold-base 1\)"),
        ("0003 1 1 S\n", "Expected a sentence from 1 to 2, .* line 1: '0003 1 1 S'"),
        ("0001 1 1 S\n0-0\n", "Expected a sentence from 1 to 2, .* line 2: '0-0'"),
        ("0001 1 3 S\n", "Expected links within 2 and 2 words.* line 1: 0-2"),
    ],
)
def test_bad_gold(text, message, tmp_path):
    path = tmp_path / "gold.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_gold(path, *SENTENCES)


def test_pairs_of_fast_align(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("das Haus ||| the house\ndas Buch\tthe book\n")
    assert read_pairs(path) == SENTENCES
    path.write_text("a ||| b ||| c\n")
    with pytest.raises(ValueError, match=r"a tab or \|\|\|, and a target.* line 1: 2 of"):
        read_pairs(path)


def test_a_no_break_space_is_in_a_word(tmp_path):
    for name, line in (("a.fr", "10\u00a0000\u202f% chats"), ("a.en", "10,000\tcats ")):
        (tmp_path / name).write_text(f"{line}\n", "utf-8")
    pairs = read_pairs(tmp_path / "a.fr", tmp_path / "a.en")
    assert pairs.sources == [("10\u00a0000\u202f%", "chats")]
    assert pairs.targets == [("10,000", "cats")]
