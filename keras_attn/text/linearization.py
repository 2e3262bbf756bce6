"""Trees as sequences of symbols that a model of sequences can write."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_attn.text.trees import DEEPEST, Leaf, Node, Tree, leaves

WORD = "XX"
"""The symbol of every word."""


class Linearized(NamedTuple):
    """A tree in a row.

    Attributes:
        symbols: list of "(NP", ")NP" and WORD.
        words: list of the words, one for each WORD.
        tags: list of their tags.
    """

    symbols: list[str]
    words: list[str]
    tags: list[str]


def linearize(node: Node) -> Linearized:
    """A tree as symbols, words and tags; `tree_from` is its exact inverse.

    Example:
        >>> cells = Tree("NP", (Leaf("DT", "the"), Leaf("NN", "cells")))
        >>> linearize(Tree("S", (cells, Tree("VP", (Leaf("VBP", "grow"),)))))
        Linearized(symbols=['(S', '(NP', 'XX', 'XX', ')NP', '(VP', 'XX', ')VP', ')S'],
                   words=['the', 'cells', 'grow'], tags=['DT', 'NN', 'VBP'])

    Source: Vinyals et al. 2015, arXiv:1412.7449, section 2.2.
    """
    places = leaves(node)
    return Linearized(_symbols(node), [leaf.word for leaf in places], [leaf.tag for leaf in places])


def tree_from(symbols: Sequence[str], words: Sequence[str], tags: Sequence[str]) -> Node:
    """The tree that `linearize` made symbols of.

    Args:
        symbols: strings, as a model writes them.
        words: of the sentence.
        tags: one for each word. EVALB tells punctuation by its tag: a parser that has no tags of
            its own is measured with the sentence's.

    Returns:
        the tree.

    Raises:
        ValueError: the symbols are no single whole tree with as many words, or have more than
            DEEPEST constituents inside each other; with the position of what is wrong, from 0.

    Example:
        >>> tree_from(["(NP", "XX", ")NP"], ["cells"], ["NNS"])
        Tree(label='NP', children=(Leaf(tag='NNS', word='cells'),))
    """
    if not symbols.count(WORD) == len(words) == len(tags):
        raise ValueError(
            f"Expected as many words and tags as {WORD} symbols, {symbols.count(WORD)}. "
            f"Received: {len(words)} words, {len(tags)} tags"
        )
    leaf = iter([Leaf(tag, word) for tag, word in zip(tags, words)])
    tops: list[Node] = []
    open_: list[tuple[str, list[Node]]] = []
    for place, symbol in enumerate(symbols):
        if tops and not open_:
            raise ValueError(f"Expected the end at symbol {place}. Received: {symbol!r}")
        here = open_[-1][1] if open_ else tops
        if symbol == WORD:
            here.append(next(leaf))
        elif symbol.startswith("(") and len(open_) < DEEPEST:
            open_.append((symbol[1:], []))
        elif open_ and symbol == f"){open_[-1][0]}":
            label, children = open_.pop()
            (open_[-1][1] if open_ else tops).append(Tree(label, tuple(children)))
        else:
            raise ValueError(
                f"Expected {_expected(open_)} at symbol {place}. Received: {symbol!r:.80}"
            )
    if not tops:
        raise ValueError(f"Expected {_expected(open_)} at the end. Received: nothing more")
    return tops[0]


def chain_counts(trees: Iterable[Node]) -> dict[int, int]:
    """How often each length of a unary chain occurs, by length from the shortest.

    A chain is as many constituents as lie around the same words and nothing else, the longest run
    of them: (S (VP (VB go))) is a chain of 2, every constituent with several children one of 1.

    Example:
        >>> chain_counts([Tree("S", (Tree("VP", (Leaf("VB", "go"),)),))])
        {2: 1}
    """
    counts: Counter[int] = Counter()
    ahead = [(tree, 1) for tree in trees if isinstance(tree, Tree)]
    while ahead:
        tree, length = ahead.pop()
        inside = [child for child in tree.children if isinstance(child, Tree)]
        goes_on = len(inside) == len(tree.children) == 1
        if not goes_on:
            counts[length] += 1
        ahead += [(child, length + 1 if goes_on else 1) for child in inside]
    return dict(sorted(counts.items()))


def _symbols(node):
    symbols = []
    ahead = [node]
    while ahead:
        top = ahead.pop()
        if isinstance(top, Tree):
            symbols.append(f"({top.label}")
            ahead += [f"){top.label}", *reversed(top.children)]
        else:
            symbols.append(WORD if isinstance(top, Leaf) else top)
    return symbols


def _expected(open_):
    if len(open_) == DEEPEST:
        return f"at most {DEEPEST} constituents inside each other"
    closing = f", or ){open_[-1][0]}" if open_ else ""
    return f"an opening bracket with a label, or {WORD}{closing}"
