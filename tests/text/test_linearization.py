"""Linearization: exactly undone on all trees, and symbols that are no tree are refused."""

from collections import Counter

import pytest
from hypothesis import given, settings

from keras_attn.text.bracket_text import parse_tree
from keras_attn.text.linearization import chain_counts, linearize, tree_from
from keras_attn.text.trees import DEEPEST, Leaf
from keras_attn_pipelines.data.readers.tree_reader import read_trees
from tests.text.generated_trees import NODES, deep

TREE = parse_tree("(S (NP (DT the) (NN cell)) (VP (VBZ grows)))")
SYMBOLS = ["(S", "(NP", "XX", "XX", ")NP", "(VP", "XX", ")VP", ")S"]
PAIR = (["the", "cell"], ["DT", "NN"])


def test_a_tree_in_a_row():
    assert linearize(TREE) == (SYMBOLS, ["the", "cell", "grows"], ["DT", "NN", "VBZ"])
    assert linearize(Leaf("NN", "cell")) == (["XX"], ["cell"], ["NN"])


@settings(max_examples=40, deadline=None)
@given(NODES)
def test_undone_on_generated_trees(node):
    assert tree_from(*linearize(node)) == node


def undone_on(path):
    if not path.is_file():
        pytest.skip(f"needs {path}; set KERAS_ATTN_DATA to the data folder")
    trees = [pair.target for pair in read_trees(path).pairs]
    assert all(tree_from(*linearize(tree)) == tree for tree in trees)
    return trees


def test_undone_on_a_treebank(data_folder):
    trees = undone_on(data_folder / "craft-treebank" / "dev.mrg.gz")
    assert len(trees) == 3471
    assert chain_counts(trees) == {1: 60896, 2: 2470, 3: 28}
    counts = Counter(symbol for tree in trees for symbol in linearize(tree).symbols)
    assert len(counts) == 59 and counts["(NP"] == counts[")NP"] == 28685


@pytest.mark.slow
def test_undone_on_a_treebank_to_train_on(data_folder):
    trees = undone_on(data_folder / "craft-treebank" / "train.mrg.gz")
    symbols = {symbol for tree in trees for symbol in linearize(tree).symbols}
    assert len(trees) == 23657 and len(symbols) == 59


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ("", "at the end. Received: nothing more"),
        ("(NP XX XX", r"XX, or \)NP at the end"),
        ("(NP XX XX )VP", r"XX, or \)NP at symbol 3. Received: '\)VP'"),
        ("(NP XX )NP XX", "Expected the end at symbol 3. Received: 'XX'"),
        ("XX XX", "Expected the end at symbol 1"),
        (")NP XX XX", r"or XX at symbol 0. Received: '\)NP'"),
        ("(NP XX dog XX )NP", "at symbol 2. Received: 'dog'"),
        ("(NP XX XX )NP )NP", "Expected the end at symbol 4"),
    ],
)
def test_symbols_that_are_no_tree(symbols, message):
    symbols = symbols.split()
    words, tags = (own[: symbols.count("XX")] for own in PAIR)
    with pytest.raises(ValueError, match=message):
        tree_from(symbols, words, tags)


@pytest.mark.parametrize("words, tags", [(["a"], ["X"]), (["a", "b"], ["X"]), ([], [])])
def test_as_many_words_and_tags_as_symbols(words, tags):
    with pytest.raises(ValueError, match=r"as many words and tags as XX symbols, 2. Received: "):
        tree_from(["(NP", "XX", "XX", ")NP"], words, tags)


def test_depth_has_a_bound():
    assert tree_from(*linearize(deep(DEEPEST))) == deep(DEEPEST)
    with pytest.raises(ValueError, match=f"at most {DEEPEST} .* at symbol {DEEPEST}. Received"):
        tree_from(*linearize(deep(DEEPEST + 1)))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("(NN a)", {}),
        ("(NP (NN a))", {1: 1}),
        ("(S (VP (NP (NN a))))", {3: 1}),
        ("(S (NP (NN a)) (VP (VB b)))", {1: 3}),
        ("(S (VP (VB a) (NP (NP (NN b)))))", {2: 2}),
        ("(S (VP (VP (NN a) (NN b))) (NP (NP (NN c))))", {1: 1, 2: 2}),
    ],
)
def test_chains(text, counts):
    assert chain_counts([parse_tree(text)]) == counts
