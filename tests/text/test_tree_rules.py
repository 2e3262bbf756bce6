"""What the rules take away, alone and one after the other."""

import pytest
from hypothesis import given, settings

from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.tree_rules import (
    RULES,
    normalized,
    without_features,
    without_functions,
    without_root,
    without_traces,
)
from keras_attn.text.trees import DEEPEST, leaves
from tests.text.generated_trees import NODES, deep


def after(rule, text):
    left = rule(parse_tree(text))
    return None if left is None else bracket_text(left)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("(S (NP (-NONE- *)) (VP (VB go)))", "(S (VP (VB go)))"),
        ("(S (NP (NP (-NONE- *T*)) (SBAR (-NONE- 0))) (VB go))", "(S (VB go))"),
        ("(S (NP) (VB go))", "(S (VB go))"),
        ("(S (NP (NN -NONE-)))", "(S (NP (NN -NONE-)))"),
        ("(S (NP (-NONE- *)))", None),
        ("(-NONE- *)", None),
        ("()", None),
    ],
)
def test_traces(text, left):
    assert after(without_traces, text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("( (S (NN a)))", "(S (NN a))"),
        ("(ROOT (S (NN a)))", "(S (NN a))"),
        ("(VROOT (S (NN a)))", "(S (NN a))"),
        ("(TOP (S1 (NP (TOP (NN a)))))", "(NP (TOP (NN a)))"),
        ("( (NN a))", "(NN a)"),
        ("( (NP (NN a)) (. .))", "(TOP (NP (NN a)) (. .))"),
        ("(ROOT (NP (NN a)) (. .))", "(ROOT (NP (NN a)) (. .))"),
        ("(S (NN a))", "(S (NN a))"),
    ],
)
def test_roots(text, left):
    assert after(without_root, text) == left


@pytest.mark.parametrize(
    ("label", "left"),
    [
        ("NP##case=nom##", "NP"),
        ("NP##n=s|c=a-b##-SB", "NP-SB"),
        ("NP-SB##n=s", "NP-SB"),
        ("NP##n=s##x##l=y##", "NPx"),
        ("##", "##"),
        ("#", "#"),
    ],
)
def test_features(label, left):
    assert after(without_features, f"(S ({label} (NN a##b##)))") == f"(S ({left} (NN a##b##)))"
    assert after(without_features, f"({label} a)") == f"({left} a)"


@pytest.mark.parametrize(
    ("label", "left"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-1=2", "NP"),
        ("NP=2-1", "NP"),
        ("NP", "NP"),
        ("-LRB-", "-LRB-"),
        ("-DFL-", "-DFL-"),
        ("ADVP|PRT", "ADVP|PRT"),
        ("WHNP-10", "WHNP"),
    ],
)
def test_functions(label, left):
    text = after(without_functions, f"({label} (-LRB- -LRB-) (NN-TTL a=b-1))")
    assert text == f"({left} (-LRB- -LRB-) (NN-TTL a=b-1))"


def test_roots_go_after_features_traces_and_functions():
    for root in ("TOP-1", "TOP##n=s##", "TOP##n=s##-1"):
        assert after(normalized, f"({root} (S (VB go)))") == "(S (VB go))"
    text = "( (NP-SBJ (-NONE- *)) (S-IMP (VB go)))"
    assert after(normalized, text) == "(S (VB go))"
    assert after(lambda node: normalized(node, RULES[2:]), text).startswith("(TOP (NP (-NONE- *))")


def test_each_rule_can_be_left_out():
    node = parse_tree("( (S-IMP (NP (-NONE- *)) (VB go)))")
    assert normalized(node, ()) == node
    assert bracket_text(normalized(node, RULES[:2])) == "( (S-IMP (VB go)))"
    assert bracket_text(normalized(node, RULES[:3])) == "( (S (VB go)))"
    assert bracket_text(normalized(node, RULES[3:])) == "(S-IMP (NP (-NONE- *)) (VB go))"


@settings(max_examples=50, deadline=None)
@given(NODES)
def test_what_is_left_stays(node):
    words = [leaf for leaf in leaves(node) if leaf.tag != "-NONE-"]
    left = normalized(node)
    if not words:
        assert left is None
    else:
        assert leaves(left) == words
        assert normalized(left) == left


def test_the_deepest_tree_that_is_read():
    assert normalized(deep(DEEPEST, "NP-1")) == deep(DEEPEST, "NP")
