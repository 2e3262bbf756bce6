"""Algorithmic problems drawn at random, as pairs of texts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keras_attn.text.sequence_forms import (
    ASSOCIATIVE_RECALL,
    COPY,
    END_WORD,
    PRIORITY_SORT,
    REPEAT_COPY,
    SHORTEST_PATH,
)
from keras_attn_pipelines.tasks.algorithmic.graphs import path_problem

RETURNED = 0.8
"""Share of the words of a priority sort that are wanted."""
WORDS_OF_ITEM = 3
"""Words of an item of an associative recall."""


@dataclass(frozen=True)
class SequencePair:
    """A problem and its answer.

    Attributes:
        source: text of the problem.
        target: text of the answer.
        length: length that was drawn: words, items of a recall, or nodes of a graph.
    """

    source: str
    target: str
    length: int


@dataclass(frozen=True)
class Problem:
    """What is drawn.

    Attributes:
        name: one of `keras_attn.text.sequence_forms.PROBLEMS`.
        bits: bits of a word.
        repeats: maximum number of copies of a repeat copy.
        hops: maximum number of edges of a shortest path.
    """

    name: str
    bits: int
    repeats: int = 10
    hops: int = 3

    def draw(self, random: np.random.Generator, length: int) -> SequencePair:
        """A problem of some length."""
        source, target = _DRAWN[self.name](self, random, length)
        return SequencePair(source, target, length)

    def most(self, length: int) -> tuple[int, int]:
        """Most words of a source of some length, and of its answer."""
        if self.name == COPY:
            return length, length
        if self.name == REPEAT_COPY:
            return length + 1, length * self.repeats + 1
        if self.name == PRIORITY_SORT:
            return length + 1, returned(length)
        if self.name == ASSOCIATIVE_RECALL:
            return WORDS_OF_ITEM * (length + 1) + length, WORDS_OF_ITEM
        return length - 1 + length // 2 + 2, self.hops + 1


def returned(length: int) -> int:
    """Words of a priority sort that are wanted: at least one."""
    return max(1, round(RETURNED * length))


def _words(problem, random, count):
    """Random words."""
    rows = random.integers(0, 2, (count, problem.bits))
    return ["".join(map(str, row)) for row in rows.tolist()]


def _copy(problem, random, length):
    text = " ".join(_words(problem, random, length))
    return text, text


def _repeat_copy(problem, random, length):
    words, copies = _words(problem, random, length), int(random.integers(1, problem.repeats + 1))
    return " ".join([*words, f"x{copies}"]), " ".join([*words * copies, END_WORD])


def _associative_recall(problem, random, length):
    words = _words(problem, random, WORDS_OF_ITEM * length)
    items = [" ".join(words[place : place + WORDS_OF_ITEM]) for place in range(0, len(words), 3)]
    asked = int(random.integers(length - 1))
    return f"{' | '.join(items)} ? {items[asked]}", items[asked + 1]


def _priority_sort(problem, random, length):
    words = _words(problem, random, length)
    priorities = np.round(random.uniform(-1, 1, length), 4)
    source = [f"{word}:{priority:.4f}" for word, priority in zip(words, priorities)]
    best = np.argsort(-priorities, kind="stable")[: returned(length)]
    return " ".join([*source, f"x{len(best)}"]), " ".join(words[place] for place in best)


def _shortest_path(problem, random, length):
    edges, path = path_problem(random, length, problem.hops)
    names = random.choice(2**problem.bits, length, replace=False)
    words = [f"{name:0{problem.bits}b}" for name in names]
    source = " ".join(f"{words[first]}-{words[second]}" for first, second in edges)
    target = " ".join([*(words[node] for node in path[1:]), END_WORD])
    return f"{source} ? {words[path[0]]}-{words[path[-1]]}", target


_DRAWN: dict[str, Callable] = {
    COPY: _copy,
    REPEAT_COPY: _repeat_copy,
    ASSOCIATIVE_RECALL: _associative_recall,
    PRIORITY_SORT: _priority_sort,
    SHORTEST_PATH: _shortest_path,
}
