"""What is taken out of treebank trees before a parser learns them or is measured on them."""

import re
from collections.abc import Callable, Sequence

from keras_attn.text.trees import Leaf, Node, Tree

TRACE = "-NONE-"
"""The tag of what stands where nothing is said."""
ROOTS = frozenset(["", "TOP", "ROOT", "S1", "VROOT"])
"""Labels of what is only around a tree."""

Rule = Callable[[Node], Node | None]
_FEATURES = re.compile("(?<=.)##.*?(?:##|$)")


def without_features(node: Node) -> Node:
    """Labels and tags without lists of features: NP##case=nom## becomes NP.

    Example:
        >>> without_features(Tree("NP##n=s##-SB", (Leaf("NN##n=s|c=nom##", "Haus"),)))
        Tree(label='NP-SB', children=(Leaf(tag='NN', word='Haus'),))

    Source: Seddah et al. 2013, "Overview of the SPMRL 2013 Shared Task", W13-4917.
    """
    if isinstance(node, Leaf):
        return Leaf(_FEATURES.sub("", node.tag), node.word)
    return Tree(_FEATURES.sub("", node.label), tuple(map(without_features, node.children)))


def without_traces(node: Node) -> Node | None:
    """Without traces (-NONE-), and without the constituents that have no words then.

    Returns:
        the tree, or None where it has no words.

    Example:
        >>> tree = Tree("S", (Tree("NP", (Leaf("-NONE-", "*PRO*"),)), Leaf("VB", "go")))
        >>> without_traces(tree)
        Tree(label='S', children=(Leaf(tag='VB', word='go'),))
    """
    if isinstance(node, Leaf):
        return None if node.tag == TRACE else node
    children = tuple(part for child in node.children if (part := without_traces(child)) is not None)
    return Tree(node.label, children) if children else None


def without_root(node: Node) -> Node:
    """Without brackets around the tree that have no label or one of ROOTS.

    Brackets around several trees stay, and have the label "TOP" then if they had none.

    Example:
        >>> without_root(Tree("", (Tree("NP", (Leaf("NN", "cells"),)),)))
        Tree(label='NP', children=(Leaf(tag='NN', word='cells'),))
    """
    while isinstance(node, Tree) and node.label in ROOTS and len(node.children) == 1:
        node = node.children[0]
    return node if isinstance(node, Leaf) or node.label else Tree("TOP", node.children)


def without_functions(node: Node) -> Node:
    """Labels without function tags and indices: NP-SBJ-1, NP=2 and NP-1=2 become NP.

    Labels that begin with a hyphen, and all tags of words (-LRB-), stay as they are.

    Example:
        >>> without_functions(Tree("NP-SBJ-1", (Leaf("-LRB-", "-LRB-"),)))
        Tree(label='NP', children=(Leaf(tag='-LRB-', word='-LRB-'),))
    """
    if isinstance(node, Leaf):
        return node
    label = node.label
    if not label.startswith(("-", "=")):
        label = label.partition("-")[0].partition("=")[0]
    return Tree(label, tuple(without_functions(child) for child in node.children))


RULES: tuple[Rule, ...] = (without_features, without_traces, without_functions, without_root)
"""All of them, in the order in which they apply: a label may be a trace, end in functions, or be
one of ROOTS only after its features are gone; a root may have a single child only after traces."""


def normalized(node: Node, rules: Sequence[Rule] = RULES) -> Node | None:
    """A tree after the rules, one after the other.

    Args:
        node: as it stands in the treebank.
        rules: functions of a tree; leave some of RULES out to keep what they take away.

    Returns:
        the tree, or None where no word is left.

    Example:
        >>> go = Tree("VP", (Leaf("VB", "go"),))
        >>> tree = Tree("", (Tree("S-IMP", (Tree("NP-SBJ", (Leaf("-NONE-", "*"),)), go)),))
        >>> normalized(tree)
        Tree(label='S', children=(Tree(label='VP', children=(Leaf(tag='VB', word='go'),)),))
    """
    for rule in rules:
        result = rule(node)
        if result is None:
            return None
        node = result
    return node
