"""Constituency trees: immutable, with a label over children and a tag over each word."""

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
    found: list[Leaf] = []
    ahead = [node]
    while ahead:
        top = ahead.pop()
        if isinstance(top, Leaf):
            found.append(top)
        else:
            ahead += reversed(top.children)
    return found
