"""Right-branching baseline parser: every constituent reaches to the end of the sentence."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keras_attn.text.trees import Leaf, Node, Tree


@dataclass(frozen=True)
class RightBranching:
    """Parses "a b c d" as (root a (… b (… c d))): what a trained parser has to beat.

    Args:
        root: label of the whole sentence.
        label: of the constituents in it.
        by_tag: dict from the tag of a constituent's first word to a label to have in its place.

    Example:
        >>> from keras_attn.text.bracket_text import bracket_text
        >>> parser = RightBranching("S", "NP", {"VBD": "VP"})
        >>> bracket_text(parser.parse(["we", "saw", "two", "cells"], ["PRP", "VBD", "CD", "NNS"]))
        '(S (PRP we) (VP (VBD saw) (NP (CD two) (NNS cells))))'
    """

    root: str
    label: str
    by_tag: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def learn(cls, trees: Iterable[Node]) -> "RightBranching":
        """The parser with the most frequent labels of trees, of equals the first in the alphabet.

        Labels inside the sentence are those of constituents of several words.

        Raises:
            ValueError: there is no such constituent.
        """
        roots: Counter[str] = Counter()
        by_tag: dict[str, Counter[str]] = defaultdict(Counter)
        for tree in trees:
            if isinstance(tree, Tree):
                roots[tree.label] += 1
                for label, tag in _inside(tree):
                    by_tag[tag][label] += 1
        if not by_tag:
            raise ValueError("Expected trees with constituents of several words. Received: none")
        labels = sum(by_tag.values(), Counter())
        most_frequent = {tag: _most_frequent(by_tag[tag]) for tag in sorted(by_tag)}
        return cls(_most_frequent(roots), _most_frequent(labels), most_frequent)

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> Tree:
        """The tree of a sentence.

        Raises:
            ValueError: no word, or not as many tags as words.
        """
        if not words or len(words) != len(tags):
            raise ValueError(
                f"Expected as many tags as words, and at least one. "
                f"Received: {len(words)} words, {len(tags)} tags"
            )
        nodes = [Leaf(tag, word) for tag, word in zip(tags, words)]
        rest: tuple[Node, ...] = (nodes[-1],)
        for leaf in nodes[-2:0:-1]:
            rest = (Tree(self.by_tag.get(leaf.tag, self.label), (leaf, *rest)),)
        return Tree(self.root, rest if len(nodes) == 1 else (nodes[0], *rest))


def _inside(tree):
    """(label, tag of the first word) of each constituent of several words inside a tree."""
    words = []

    def tags_of(node):
        if isinstance(node, Leaf):
            return [node.tag]
        tags = [tag for child in node.children for tag in tags_of(child)]
        if len(tags) > 1 and node is not tree:
            words.append((node.label, tags[0]))
        return tags

    tags_of(tree)
    return words


def _most_frequent(counts):
    return max(sorted(counts), key=counts.__getitem__)
