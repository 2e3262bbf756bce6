"""Alignment error rate, precision and recall."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Links = Iterable[tuple[int, int]]


class Gold(NamedTuple):
    """Links of one pair of sentences by an annotator, (source word, target word) from 0.

    Attributes:
        sure: frozenset of pairs. Links that must be there.
        possible: frozenset of pairs. Links that may be there; includes the sure ones.
    """

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, sure: Links, possible: Links = ()) -> "Gold":
        """Gold links; the sure ones are possible too."""
        sure = frozenset(sure)
        return cls(sure, sure | frozenset(possible))


class AlignmentScores(NamedTuple):
    """Scores of alignments, in 0..1.

    Attributes:
        aer: alignment error rate, 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); 0 where there are neither
            links nor gold links.
        precision: |A ∩ P| / |A|; 1 where there are no links.
        recall: |A ∩ S| / |S|; 1 where there are no sure links.
    """

    aer: float
    precision: float
    recall: float


def alignment_scores(alignments: Sequence[Links], gold: Sequence[Gold | None]) -> AlignmentScores:
    """Scores of alignments A by gold links, sure S and possible P, summed over all sentences.

    Args:
        alignments: for each pair its links, (source word, target word) from 0.
        gold: list of `Gold`, or None for a pair that does not count.

    Returns:
        `AlignmentScores`.

    Raises:
        ValueError: other lengths ("Expected as many alignments as gold alignments. Received: 2 and
            3").

    Example:
        >>> gold = [Gold.of([(0, 0), (1, 2)], possible=[(1, 1)])]
        >>> alignment_scores([[(0, 0), (1, 1), (2, 2)]], gold)
        AlignmentScores(aer=0.4, precision=0.666..., recall=0.5)

    Source: Och and Ney 2003, J03-1002, 6.1.
    """
    if len(alignments) != len(gold):
        raise ValueError(
            "Expected as many alignments as gold alignments. Received: "
            f"{len(alignments)} and {len(gold)}"
        )
    links = sure = links_sure = links_possible = 0
    for alignment, reference in zip(alignments, gold, strict=True):
        if reference is None:
            continue
        predicted = set(alignment)
        links, sure = links + len(predicted), sure + len(reference.sure)
        links_sure += len(predicted & reference.sure)
        links_possible += len(predicted & reference.possible)
    return AlignmentScores(
        aer=1 - (links_sure + links_possible) / (links + sure) if links + sure else 0.0,
        precision=links_possible / links if links else 1.0,
        recall=links_sure / sure if sure else 1.0,
    )
