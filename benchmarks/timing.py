"""Timing side by side, in turns, and the table that shows it."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np


def in_turns(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, np.ndarray]:
    """Seconds of each work, measured in turns after one of each that does not count.

    One turn times every work once, in another order each turn, so that whatever else the machine
    does meets all of them. Compare works by the ratios within the turns, see `ratio`.

    Args:
        works: functions by name.
        repeats: int ≥ 1. Turns.

    Returns:
        dict from name to float (repeats,), seconds.
    """
    names, seconds = list(works), {name: [] for name in works}
    for name in names:
        works[name]()
    for turn in range(repeats):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            begin = time.perf_counter()
            works[name]()
            seconds[name].append(time.perf_counter() - begin)
    return {name: np.array(times) for name, times in seconds.items()}


def ratio(above: np.ndarray, below: np.ndarray) -> float:
    """Median over the turns of one work's seconds divided by another's."""
    return float(np.median(above / below))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
