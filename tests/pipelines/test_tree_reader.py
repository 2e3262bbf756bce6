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


CHINESE = """<DOC>
<DOCID> CTB.002 </DOCID>
<HEADER>
1998-07-05
</HEADER>
<BODY>
<HEADLINE>
<S ID=17>
( (IP (NP-SBJ (NR 河))
  (PU <)
  (PU #)
  (PU <S>)) )
</S>
</HEADLINE>
<P><S ID=19> ( (NP (NN 桥)) ) </S>
</P>
</BODY>
</DOC>
"""
CASES = {  # Text, trees with their lines, how many tags and comments, lines that are skipped.
    "chinese": (
        CHINESE,
        [(9, "(IP (NP (NR 河)) (PU <) (PU #) (PU <S>))"), (15, "(NP (NN 桥))")],
        14,
        [],
    ),
    "features": (
        "(VROOT##x## (NP##case=nom##-SB (NN##n=s|l=a#b## c##d##)) (# #))\n(VROOT (NP## (## a)))\n",
        [(1, "(VROOT (NP (NN c##d##)) (# #))"), (2, "(NP (## a))")],
        0,
        [],
    ),
    "comments": (
        "*x*x*x*\n*x*  (C) 1992  *x*\n\n# id = 5 (S\n(S (# #)\n(NN b))\n  %% Sent 2\n(NN c)\n",
        [(5, "(S (# #) (NN b))"), (8, "(NN c)")],
        4,
        [],
    ),
    "roots": (
        "( (S (NN a)) )\n(TOP (S (NN b)))\n(ROOT (S (NN c)))\n(VROOT (S (NN d)))\n",
        [(line, f"(S (NN {word}))") for line, word in enumerate("abcd", 1)],
        0,
        [],
    ),
    "empty": ("(NN a)\n(())\n( (\n) )\n(NN b)\n", [(1, "(NN a)"), (5, "(NN b)")], 0, [2, 3]),
    "xml": ("<?xml v?>\n<!-- (S -->\n<a\n(NN b)", None, None, "an opening bracket at .*:3.*'<a'"),
    "inside": (
        "<S>\n(S (NN a)\n</S>\n(S (NN b))\n</S>",
        None,
        None,
        ":3, in the .* line 2.*'</S>'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_stands_between_and_around_trees(tmp_path, name):
    text, expected, count, skipped = CASES[name]
    path = written(tmp_path, text)
    if expected is None:
        with pytest.raises(ValueError, match=skipped):
            read_trees(path)
        return
    trees = read_trees(path)
    assert list(zip(places(trees), texts(trees), strict=True)) == expected
    left_out = f", without {count} tags and comments" if count else ""
    assert trees.form == f"trees in brackets{left_out}"
    assert [value.line for value in trees.skipped] == skipped


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
