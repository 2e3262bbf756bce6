"""Labeled brackets of parsed trees against true ones, by the rules of EVALB with COLLINS.prm.

Parsers of the Penn Treebank are compared by these rules. Left out are EVALB's limits (200 words and
brackets a sentence, 10 errors) and its scores of sentences of at most 40 words.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keras_attn.text.trees import Leaf, Node, Tree

DELETED = frozenset(["TOP", "-NONE-", ",", ":", "``", "''", "."])
"""Words with one of these tags are removed from both trees. Constituents with one of these labels
are not counted; those inside them are."""
EQUIVALENT = {"PRT": "ADVP"}
"""Labels and tags, each with the one that it counts as."""


class SentenceBrackets(NamedTuple):
    """The counts of one sentence.

    Attributes:
        sentence: its index, from 0.
        matched: brackets of the parsed tree that the true tree has.
        true: brackets of the true tree.
        parsed: brackets of the parsed tree.
        crossing: brackets of the parsed tree that cross one of the true tree.
        words: after deletion.
        correct_tags: words with the true tag.
    """

    sentence: int
    matched: int
    true: int
    parsed: int
    crossing: int
    words: int
    correct_tags: int


class Unscored(NamedTuple):
    """A sentence that takes no part in the scores: its index, from 0, and why."""

    sentence: int
    reason: str


@dataclass(frozen=True)
class BracketReport:
    """What the comparison of two lists of trees gave.

    Attributes:
        sentences: list of `SentenceBrackets`, of those that could be compared.
        errors: list of `Unscored`: the two trees have other words.
        skipped: list of `Unscored`: no parsed tree, or none with words that count.
    """

    sentences: list[SentenceBrackets]
    errors: list[Unscored]
    skipped: list[Unscored]

    def unscored(self) -> list[Unscored]:
        """All that take no part in the scores, in the order of the sentences."""
        return sorted(self.errors + self.skipped)

    def scores(self) -> dict[str, float]:
        """Scores of all sentences that could be compared, as EVALB prints them.

        Returns:
            dict: "precision", "recall" and "f1" of the brackets of all sentences together; "exact"
            and "no_crossing", of sentences; "tagging", of words: percent. "crossing": brackets a
            sentence. 0 where there is nothing to divide by.
        """
        matched = sum(sentence.matched for sentence in self.sentences)
        parsed = sum(sentence.parsed for sentence in self.sentences)
        true = sum(sentence.true for sentence in self.sentences)
        exact = sum(
            sentence.matched == sentence.true == sentence.parsed for sentence in self.sentences
        )
        uncrossed = sum(sentence.crossing == 0 for sentence in self.sentences)
        crossing = sum(sentence.crossing for sentence in self.sentences)
        tags = sum(sentence.correct_tags for sentence in self.sentences)
        return {
            "precision": _percent(matched, parsed),
            "recall": _percent(matched, true),
            "f1": _percent(2 * matched, parsed + true),
            "exact": _percent(exact, len(self.sentences)),
            "crossing": _percent(crossing, len(self.sentences)) / 100,
            "no_crossing": _percent(uncrossed, len(self.sentences)),
            "tagging": _percent(tags, sum(sentence.words for sentence in self.sentences)),
        }


def compare_brackets(parsed: Sequence[Node | None], true: Sequence[Node]) -> BracketReport:
    """Compares parsed trees with the true ones.

    As in EVALB, sentences in `errors` and `skipped` count in no score: a parser that fails where it
    is hard looks better than it is. Report their number with the scores.

    Args:
        parsed: for each sentence a tree, or None where the parser gave none.
        true: for each sentence its tree.

    Returns:
        `BracketReport`.

    Raises:
        ValueError: no sentence, or not as many trees on both sides.

    Example:
        >>> from keras_attn.text.bracket_text import parse_tree
        >>> true = parse_tree("(S (NP (DT the) (NN cell)) (VP (VBZ grows)) (. .))")
        >>> parsed = parse_tree("(S (NP (DT the) (NN cell) (NNS grows)) (. .))")
        >>> compare_brackets([parsed], [true]).sentences
        [SentenceBrackets(sentence=0, matched=1, true=3, parsed=2, crossing=0, words=3,
                          correct_tags=2)]

    Source: Sekine & Collins 1997, EVALB; Black et al. 1991, "A Procedure for Quantitatively
    Comparing the Syntactic Coverage of English Grammars".
    """
    if not true or len(parsed) != len(true):
        raise ValueError(
            f"Expected as many parsed trees as true ones, and at least one. "
            f"Received: {len(parsed)} parsed, {len(true)} true"
        )
    sentences, errors, skipped = [], [], []
    for index, (tree, true_tree) in enumerate(zip(parsed, true)):
        brackets, true_brackets = _Brackets.of(tree), _Brackets.of(true_tree)
        if not brackets.leaves:
            skipped.append(Unscored(index, "no tree" if tree is None else "no words that count"))
        elif reason := _difference(brackets.leaves, true_brackets.leaves):
            errors.append(Unscored(index, reason))
        else:
            sentences.append(_compared(index, brackets, true_brackets))
    return BracketReport(sentences, errors, skipped)


class _Brackets(NamedTuple):
    """The words of a tree that count, and its constituents as (label, start, end)."""

    leaves: list[Leaf]
    spans: list[tuple[str, int, int]]

    @classmethod
    def of(cls, node):
        """Those of a tree; none where there is no tree."""
        brackets, ahead = cls([], []), [] if node is None else [node]
        while ahead:
            top = ahead.pop()
            if isinstance(top, Tree):
                ahead += [(top.label, len(brackets.leaves)), *reversed(top.children)]
            elif isinstance(top, Leaf):
                brackets.leaves.extend([top] if top.tag not in DELETED else [])
            else:
                brackets.close(*top)
        return brackets

    def close(self, label, start):
        """Adds a constituent all of whose words are there; its label ends before "-" or "="."""
        label, end = label.partition("-")[0].partition("=")[0], len(self.leaves)
        if end > start and label not in DELETED:
            self.spans.append((_same(label), start, end))


def _difference(parsed, true):
    """Why the words of two trees are not the same; empty where they are."""
    if len(parsed) != len(true):
        return f"{len(parsed)} words for {len(true)}"
    pairs = ((parsed_word.word, other.word) for parsed_word, other in zip(parsed, true))
    return next((f"word {word!r} for {other!r}" for word, other in pairs if word != other), "")


def _compared(index, parsed, true):
    matched = (Counter(parsed.spans) & Counter(true.spans)).total()
    places = {(start, end) for _, start, end in true.spans}
    others = [(start, end) for _, start, end in parsed.spans if (start, end) not in places]
    crossing = sum(any(_cross(bracket, other) for other in places) for bracket in others)
    pairs = zip(parsed.leaves, true.leaves)
    tags = sum(_same(leaf.tag) == _same(other.tag) for leaf, other in pairs)
    counts = (matched, len(true.spans), len(parsed.spans), crossing, len(true.leaves), tags)
    return SentenceBrackets(index, *counts)


def _same(name):
    """What a label or tag counts as."""
    return EQUIVALENT.get(name, name)


def _cross(first, other):
    """Whether two stretches overlap, and neither lies in the other."""
    return first[0] < other[0] < first[1] < other[1] or other[0] < first[0] < other[1] < first[1]


def _percent(part, whole):
    return 100 * part / whole if whole else 0.0
