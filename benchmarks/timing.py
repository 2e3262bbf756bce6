"""Timing side by side, in turns, and the table of it."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np


def in_turns(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, np.ndarray]:
    """Seconds of each work, measured in turns after one of each that does not count.

    See `answers_in_turns`. Compare works by the ratios within the turns, see `ratio`.

    Args:
        works: functions by name.
        repeats: int ≥ 1. Turns.

    Returns:
        dict from name to float (repeats,), seconds.
    """
    answers = answers_in_turns({name: clocked(work) for name, work in works.items()}, repeats)
    return {name: np.array(seconds) for name, seconds in answers.items()}


def answers_in_turns(
    works: Mapping[str, Callable[[], Any]], repeats: int, warm_up: bool = True
) -> dict[str, list]:
    """What each work returns, such as the seconds that it took by a clock of its own.

    One turn does every work once, in another order each turn, so that whatever else the machine
    does meets all of them.

    Args:
        works: functions by name.
        repeats: int ≥ 1. Turns.
        warm_up: whether every work is done once before, which does not count.

    Returns:
        dict from name to a list of `repeats` answers.
    """
    names, answers = list(works), {name: [] for name in works}
    for name in names * warm_up:
        works[name]()
    for turn in range(repeats):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            answers[name].append(works[name]())
    return answers


def clocked(work: Callable[[], object]) -> Callable[[], float]:
    """A function that does a work and returns its seconds."""

    def seconds():
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    return seconds


def over(batches: Sequence[Any], function: Callable[[Any], object]) -> Callable[[], None]:
    """A work: a function of each batch."""

    def work():
        for batch in batches:
            function(batch)

    return work


def ratio(above: np.ndarray, below: np.ndarray) -> float:
    """Median over the turns of one work's seconds divided by another's."""
    return float(np.median(above / below))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    return "\n".join(map(line, [head, ["---"] * len(head), *rows]))


def line(cells: Sequence[object]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def printed(rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
    """Rows of a table, each printed as soon as it is there."""
    for row in rows:
        print(line(row), flush=True)
        yield row
