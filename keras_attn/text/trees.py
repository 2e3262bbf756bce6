"""Constituency trees: immutable, with a label over children and a tag over each word."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

DEEPEST = 200
"""How many constituents may lie inside each other in what is read."""


class Leaf(NamedTuple):
    """A word with its part-of-speech tag."""

    tag: str
    word: str


class Tree(NamedTuple):
    """A constituent.

    Attributes:
        label: such as "NP"; empty only at a root, which is then no more than a pair of brackets.
        children: tuple of `Tree` and `Leaf`, in the order of their words.
    """

    label: str
    children: "tuple[Tree | Leaf, ...]"


Node: TypeAlias = Tree | Leaf


def leaves(node: Node) -> list[Leaf]:
    """All words of a tree with their tags, from the first to the last.

    Example:
        >>> leaves(Tree("NP", (Leaf("DT", "the"), Leaf("NN", "cell"))))
        [Leaf(tag='DT', word='the'), Leaf(tag='NN', word='cell')]
    """
    gathered: list[Leaf] = []
    ahead = [node]
    while ahead:
        top = ahead.pop()
        if isinstance(top, Leaf):
            gathered.append(top)
        else:
            ahead += reversed(top.children)
    return gathered


def depth(node: Node) -> int:
    """How many constituents lie inside each other, at most; 0 for a word.

    Example:
        >>> depth(Tree("S", (Tree("NP", (Leaf("NN", "cells"),)), Leaf("VBP", "grow"))))
        2
    """
    deepest = 0
    ahead = [(node, 1)]
    while ahead:
        top, level = ahead.pop()
        if isinstance(top, Tree):
            deepest = max(deepest, level)
            ahead += [(child, level + 1) for child in top.children]
    return deepest


def childless(node: Node) -> list[str]:
    """Labels of the constituents that have no children.

    Example:
        >>> childless(Tree("S", (Tree("cells", ()), Leaf("VBP", "grow"))))
        ['cells']
    """
    lines: list[str] = []
    ahead = [node]
    while ahead:
        top = ahead.pop()
        if isinstance(top, Tree):
            lines += [] if top.children else [top.label]
            ahead += reversed(top.children)
    return lines


def retagged(node: Node, tags: Iterable[str]) -> Node:
    """The same tree with other tags, one for each word.

    Raises:
        ValueError: not as many tags as words.

    Example:
        >>> retagged(Tree("NP", (Leaf("VB", "cells"),)), ["NNS"])
        Tree(label='NP', children=(Leaf(tag='NNS', word='cells'),))
    """
    tags = list(tags)
    if (words := len(leaves(node))) != len(tags):
        raise ValueError(f"Expected a tag for each of {words} words. Received: {len(tags)}")
    return _retagged(node, iter(tags))


def _retagged(node: Node, tags: Iterator[str]) -> Node:
    if isinstance(node, Leaf):
        return node._replace(tag=next(tags))
    return node._replace(children=tuple(_retagged(child, tags) for child in node.children))
