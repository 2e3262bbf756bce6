"""Labeled brackets of parsed trees against true ones, by the rules of EVALB or of PYEVALB."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keras_attn.text.trees import Leaf, Node, Tree


@dataclass(frozen=True)
class BracketRules:
    """What counts as a bracket, and when two are the same.

    Attributes:
        deleted: words with one of these tags are taken out of both trees, each by its own tags;
            constituents with one of these labels do not count, what is in them does.
        equivalent: pairs of labels, or tags, that are taken for the same.
        cut_labels: whether labels of constituents end before their first "-" or "=".
        repeated: whether a label twice over the same words can match twice.
    """

    deleted: frozenset[str]
    equivalent: tuple[tuple[str, str], ...]
    cut_labels: bool
    repeated: bool

    def label_of(self, label: str) -> str:
        """A constituent's label as it counts."""
        return label.partition("-")[0].partition("=")[0] if self.cut_labels else label

    def same_of(self, name: str) -> str:
        """What stands for a label or tag and all that are equivalent to it."""
        return next((one for one, other in self.equivalent if name == other), name)


EVALB = BracketRules(
    frozenset(["TOP", "-NONE-", ",", ":", "``", "''", "."]), (("ADVP", "PRT"),), True, True
)
"""EVALB with COLLINS.prm, by which parsers of the Penn Treebank are compared. Not here: its limits
(200 words and brackets a sentence, 10 errors), and the figures of sentences of 40 words."""
PYEVALB = BracketRules(frozenset(), (), False, False)
"""PYEVALB 0.1.3, which has no parameters. Differs from EVALB: punctuation and TOP count, ADVP is
not PRT, NP-SBJ is not NP, and a label that is twice over the same words counts twice among the
brackets but once among the matches, so that not even equal trees match completely. Differs here:
words are compared whole (PYEVALB cuts them at "_" and at every Unicode space); a tree without
words is skipped (PYEVALB has an error, or counts the tree before it again)."""


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
        matched = sum(one.matched for one in self.sentences)
        parsed = sum(one.parsed for one in self.sentences)
        true = sum(one.true for one in self.sentences)
        exact = sum(one.matched == one.true == one.parsed for one in self.sentences)
        uncrossed = sum(one.crossing == 0 for one in self.sentences)
        crossing = sum(one.crossing for one in self.sentences)
        tags = sum(one.correct_tags for one in self.sentences)
        return {
            "precision": _percent(matched, parsed),
            "recall": _percent(matched, true),
            "f1": _percent(2 * matched, parsed + true),
            "exact": _percent(exact, len(self.sentences)),
            "crossing": _percent(crossing, len(self.sentences)) / 100,
            "no_crossing": _percent(uncrossed, len(self.sentences)),
            "tagging": _percent(tags, sum(one.words for one in self.sentences)),
        }


def compare_brackets(
    parsed: Sequence[Node | None], true: Sequence[Node], rules: BracketRules = EVALB
) -> BracketReport:
    """Compares parsed trees with the true ones.

    As in EVALB, sentences in `errors` and `skipped` count in no score: a parser that fails where it
    is hard looks better than it is. Report their number with the scores.

    Args:
        parsed: for each sentence a tree, or None where the parser gave none.
        true: for each sentence its tree.
        rules: EVALB, PYEVALB or others.

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
    for index, (one, other) in enumerate(zip(parsed, true)):
        found, wanted = _Brackets.of(one, rules), _Brackets.of(other, rules)
        if not found.leaves:
            skipped.append(Unscored(index, "no tree" if one is None else "no words that count"))
        elif reason := _difference(found.leaves, wanted.leaves):
            errors.append(Unscored(index, reason))
        else:
            sentences.append(_compared(index, found, wanted, rules))
    return BracketReport(sentences, errors, skipped)


class _Brackets(NamedTuple):
    """The words of a tree that count, and its constituents as (label, start, end)."""

    leaves: list[Leaf]
    spans: list[tuple[str, int, int]]

    @classmethod
    def of(cls, node, rules):
        """Those of a tree; none where there is no tree."""
        found, ahead = cls([], []), [] if node is None else [node]
        while ahead:
            top = ahead.pop()
            if isinstance(top, Tree):
                ahead += [(top.label, len(found.leaves)), *reversed(top.children)]
            elif isinstance(top, Leaf):
                found.leaves.extend([top] if top.tag not in rules.deleted else [])
            else:
                found.close(*top, rules)
        return found

    def close(self, label, start, rules):
        """Adds a constituent all of whose words are there."""
        label, end = rules.label_of(label), len(self.leaves)
        if end > start and label not in rules.deleted:
            self.spans.append((rules.same_of(label), start, end))


def _difference(found, wanted):
    """Why the words of two trees are not the same; empty where they are."""
    if len(found) != len(wanted):
        return f"{len(found)} words for {len(wanted)}"
    pairs = ((one.word, other.word) for one, other in zip(found, wanted))
    return next((f"word {one!r} for {other!r}" for one, other in pairs if one != other), "")


def _compared(index, found, wanted, rules):
    if rules.repeated:
        matched = (Counter(found.spans) & Counter(wanted.spans)).total()
    else:
        matched = len(set(found.spans) & set(wanted.spans))
    places = {(start, end) for _, start, end in wanted.spans}
    others = [(start, end) for _, start, end in found.spans if (start, end) not in places]
    crossing = sum(any(_cross(one, other) for other in places) for one in others)
    pairs = zip(found.leaves, wanted.leaves)
    tags = sum(rules.same_of(one.tag) == rules.same_of(other.tag) for one, other in pairs)
    counts = (matched, len(wanted.spans), len(found.spans), crossing, len(wanted.leaves), tags)
    return SentenceBrackets(index, *counts)


def _cross(one, other):
    """Whether two stretches overlap, and neither lies in the other."""
    return one[0] < other[0] < one[1] < other[1] or other[0] < one[0] < other[1] < one[1]


def _percent(part, whole):
    return 100 * part / whole if whole else 0.0
