"""Bracket text: read back as written, and every damage named with its line."""

import pytest
from hypothesis import given, settings

from keras_attn.text.bracket_text import (
    bracket_text,
    parse_tree,
    parse_trees,
)
from keras_attn.text.trees import DEEPEST, Leaf, Tree
from tests.text.generated_trees import NODES, deep

CELLS = Tree("NP", (Leaf("DT", "the"), Leaf("NN", "cells")))


@settings(max_examples=40, deadline=None)
@given(NODES)
def test_read_back_as_written(node):
    assert parse_tree(bracket_text(node)) == node


@pytest.mark.parametrize(
    "text",
    [
        "(NP (DT the) (NN cells))",
        "(NP(DT the)(NN cells))",
        "\r\n( NP\n\t( DT  the )\r\n  (NN\ncells\n)\n)\n",
    ],
)
def test_white_space_means_nothing(text):
    assert parse_tree(text) == CELLS


def test_several_trees_with_the_lines_where_they_begin():
    text = "\n(NP (NN a)) (NP (NN b))\n\n(S\n (NN c))(NN d)\n"
    trees = [(line, bracket_text(node)) for line, node in parse_trees(text)]
    assert trees == [(2, "(NP (NN a))"), (2, "(NP (NN b))"), (4, "(S (NN c))"), (5, "(NN d)")]
    assert list(parse_trees(" \n")) == []


def test_only_ascii_white_space_separates():
    assert parse_tree("(NN 5\u2009mM\xa0x\u2028\x85)") == Leaf("NN", "5\u2009mM\xa0x\u2028\x85")


def test_constituents_without_label_or_children():
    assert parse_tree("( (NN a))") == Tree("", (Leaf("NN", "a"),))
    for text in ("()", "( )", "(())", "(\n( ) )"):
        assert parse_tree(text) == Tree("", ())
    assert parse_tree("(S (NP) (NN a))") == Tree("S", (Tree("NP", ()), Leaf("NN", "a")))
    for text in ("()", "( (NN a))", "(S (NP) (NN a))"):
        assert bracket_text(parse_tree(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a))\n(S (NP (NN b)\n", "that begins at f:2. Received: the end of the text, 2 "),
        ("(", "that begins at f:1. Received: the end of the text, 1 missing"),
        ("(S (NN a))\n)", "at f:2. Received: a closing bracket after the tree that begins in li"),
        (")", "Expected an opening bracket at f:1. Received: a closing bracket$"),
        ("( (S (NN a))\n( (S (NN b)))", "a label .* at f:2, in the tree that begins in line 1. "),
        ("(S\n (()) (NN a))", "Expected a label .* at f:2, in the tree that begins in line 1. "),
        ("((()))", "Expected a label .* at f:1, in the tree that begins in line 1. "),
        ("(S\n () (NN a))", "Expected a label .* at f:2, in the tree that begins in line 1. "),
        ("x (NN a)", "Expected an opening bracket at f:1. Received: 'x'"),
        ("(NN a)\n\nsee [1]", "Expected an opening bracket at f:3. Received: 'see'"),
        ("\n(NP\n(NN a b))", r"one word alone, inside \(NN at f:3, in .* line 2. Received: 'a'"),
        ("(NN f(x))", r"one word alone, inside \(NN at f:1, .*Received: 'f'"),
        ("(NP (NN a) b)", r"one word alone, inside \(NP at f:1, .*Received: 'b'"),
        ("(NP a (NN b))", r"one word alone, inside \(NP at f:1, .*Received: 'a'"),
        ("(NN a", r"one word alone, inside \(NN at f:1, .*Received: 'a'"),
    ],
)
def test_what_is_no_tree_is_named_with_its_line(text, message):
    with pytest.raises(ValueError, match=message):
        list(parse_trees(text, "f"))


def test_trees_before_the_damage_are_there():
    reading = parse_trees("(NN a)\n(NN b))")
    assert [next(reading), next(reading)] == [(1, Leaf("NN", "a")), (2, Leaf("NN", "b"))]
    with pytest.raises(ValueError, match="text:2"):
        next(reading)


def test_depth_has_a_bound():
    deepest = deep(DEEPEST)
    assert parse_tree(bracket_text(deepest)) == deepest
    with pytest.raises(ValueError, match=f"at most {DEEPEST} constituents inside each other at f"):
        list(parse_trees(bracket_text(deep(DEEPEST + 1)), "f"))
    assert bracket_text(deep(5000)).count("(") == 5001


@pytest.mark.parametrize("text", ["", "(NN a) (NN b)"])
def test_one_tree_means_one(text):
    with pytest.raises(ValueError, match=r"Expected one tree. Received: [02] in"):
        parse_tree(text)


@pytest.mark.parametrize(
    "node",
    [
        Leaf("NN", "f(x)"),
        Leaf("NN", ""),
        Leaf("", "a"),
        Leaf("NN", "two words"),
        Tree("N P", (Leaf("NN", "a"),)),
        Tree("S", (Tree("", (Leaf("NN", "a"),)),)),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(node):
    with pytest.raises(ValueError, match=r"no brackets and no white space in a name. Received: '"):
        bracket_text(node)
