"""Treebank files in every form they come in, and in every way they can be bad."""

import gzip

import pytest

from keras_attn.text.bracket_text import bracket_text
from keras_attn_pipelines.data.readers.tree_reader import read_trees

TEXT = "( (S (NP-SBJ (NNP Köln)) (VP (VBZ is) (ADJP (JJ old)))) )\n( (NP (NN cell)) )\n"
TREES = ["(S (NP (NNP Köln)) (VP (VBZ is) (ADJP (JJ old))))", "(NP (NN cell))"]


def packed(data):
    """Bytes of a gzip file; without a clock in it, so that tests have the same names every time."""
    return gzip.compress(data, mtime=0)


def written(tmp_path, data, name="a.mrg"):
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def texts(actual):
    return [bracket_text(pair.target) for pair in actual.pairs]


def places(actual):
    return [pair.line for pair in actual.pairs]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.mrg", TEXT.encode()),
        ("a.mrg.gz", packed(TEXT.encode())),
        ("packed.mrg", packed(TEXT.encode())),
        ("plain.mrg.gz", TEXT.encode()),
        ("windows.mrg", b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()),
        ("two.gz", packed(TEXT[:30].encode()) + packed(TEXT[30:].encode())),
    ],
)
def test_forms(tmp_path, name, data):
    trees = read_trees(written(tmp_path, data, name))
    assert texts(trees) == TREES
    assert places(trees) == [1, 2] and not trees.skipped


def test_many_lines_a_tree_and_rules_left_out(tmp_path):
    path = written(tmp_path, TEXT.replace(" (", "\n  ("))
    assert texts(read_trees(path)) == TREES
    trees = read_trees(str(path), rules=())
    assert texts(trees)[1] == "( (NP (NN cell)))" and places(trees) == [1, 9]


def test_trees_without_words_are_listed(tmp_path):
    path = written(tmp_path, "(NN a)\n( (NP (-NONE- *)))\n()\n\n( (S (NP)))\n(NN b)")
    trees = read_trees(path)
    assert texts(trees) == ["(NN a)", "(NN b)"] and places(trees) == [1, 6]
    assert [str(value) for value in trees.skipped] == [
        f"{path}:2: a tree with traces only",
        f"{path}:3: a tree without words",
        f"{path}:5: a tree without words",
    ]
    assert [value.line for value in read_trees(path, rules=()).skipped] == [3, 5]
    trees.check(0.6)
    with pytest.raises(ValueError, match=r"at most 50.0% unusable records. Received: 3 of 5"):
        trees.check(0.5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", r"Expected trees with words in .*a\.mrg. Received: no tree"),
        ("\ufeff\n", r"Expected trees with words in .*Received: no tree"),
        ("()", r"Received:\n  .*a\.mrg:1: a tree without words"),
        ("(NN a)\n(NP (NN b)", r"tree that begins at .*a\.mrg:2. Received: the end .* 1 missing"),
        ("(NN a)\nBackground\n", r"an opening bracket at .*a\.mrg:2. Received: 'Background'"),
        (b"(NN a)\n(NN \xe4)\n", r"Expected UTF-8 at .*a\.mrg:2. Received: .*, byte 0xe4"),
        (TEXT.encode("utf-16"), r"Expected UTF-8 in .*a\.mrg. Received: UTF-16"),
        (packed(TEXT.encode())[:-9], r"Expected a whole gzip file at .*a\.mrg. Received"),
        (packed(TEXT.encode())[:-8] + b"\0" * 8, "Expected a whole gzip file at .*CRC"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 30, "Expected a whole gzip file at "),
        (packed(TEXT.encode()) + b"junk", "Expected a whole gzip file at "),
    ],
)
def test_damage_is_named_with_its_place(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        read_trees(written(tmp_path, data))


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path, tmp_path / "no.mrg"):
        with pytest.raises(ValueError, match=r"Expected a file of trees at .*no such file"):
            read_trees(path)
