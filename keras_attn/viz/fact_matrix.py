"""Pictures of the facts that words came from, and of which fact follows which."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import LINKS, SOURCE_FACTS
from keras_attn.viz.alignment import Alignment, matrix_figure
from keras_attn.viz.labels import folded, in_words
from keras_attn.viz.readable_figure import ReadableFigure

FIRST = "(first)"
"""Label of what the link matrix expects before any fact."""


@dataclass(frozen=True)
class FactMatrix:
    """The facts that each word of an answer came from, and the links between the facts.

    Attributes:
        text: the answer.
        words: tuple of T strings, its words, the end included.
        facts: tuple of n strings.
        weights: float array (T, n); rows sum to 1.
        links: float array (n + 1, n), what the link matrix alone expects first (row 0) and after
            each fact.
    """

    text: str
    words: tuple[str, ...]
    facts: tuple[str, ...]
    weights: np.ndarray
    links: np.ndarray

    @classmethod
    def of(cls, answer, facts: Sequence[Sequence[str]]) -> "FactMatrix":
        """From one answer of a data-to-text service's `explain`, as NumPy arrays.

        A fact has the sum of its pieces' weights, a word the mean of its pieces'.

        Args:
            answer: dict with TEXT, SOURCE_PIECES, SOURCE_FACTS, LINKS, TOKENS,
                ANSWER_PIECES, WEIGHTS.
            facts: subject, property and object of each fact.
        """
        alignment, count = Alignment.of(answer), len(facts)
        numbers = np.asarray(answer[SOURCE_FACTS])
        columns = [np.flatnonzero(numbers == number + 1).tolist() for number in range(count)]
        words, rows = in_words(alignment.target)
        weights = folded(alignment.weights, rows, columns)
        links = np.asarray(answer[LINKS])[: count + 1, :count]
        return cls(alignment.text, words, tuple(map(fact_label, facts)), weights, links)


def fact_label(fact: Sequence[str]) -> str:
    """A fact in a line.

    Example:
        >>> fact_label(("Ada", "field", "computing")), fact_label(("", "name", "Ada"))
        ('Ada | field | computing', 'name | Ada')
    """
    return " | ".join(part for part in fact if part)


def facts_figure(matrix: FactMatrix) -> ReadableFigure:
    """A matrix with a row for each word of the answer and a column for each fact."""
    return matrix_figure(matrix.weights, matrix.words, matrix.facts, ("answer", "facts"))


def links_figure(matrix: FactMatrix) -> ReadableFigure:
    """A matrix with a row for each fact and one before all, and a column for the fact after it."""
    rows = (FIRST, *matrix.facts)
    return matrix_figure(matrix.links, rows, matrix.facts, ("after", "the next fact"))
