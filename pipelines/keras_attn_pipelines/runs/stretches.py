"""Splits training into calls of `fit`."""

from itertools import pairwise
from typing import NamedTuple


class Stretch(NamedTuple):
    """One call of `fit`.

    Attributes:
        start: int. Steps done before it.
        epoch: int. Epoch of its first step, from 0.
        last: int. Epochs done after it, counting one that it leaves unfinished.
        steps: int. Steps in each of its epochs.
        frozen: bool. Whether the encoder is still frozen.
        ends_epoch: bool. Whether its last step ends an epoch.
    """

    start: int
    epoch: int
    last: int
    steps: int
    frozen: bool
    ends_epoch: bool


def stretches(start: int, steps: int, epochs: int, thaw: int) -> list[Stretch]:
    """Splits the remaining training into calls of `fit`, each with epochs of equal length.

    Args:
        start: int ≥ 0. Steps done; a partial epoch is finished first.
        steps: int > 0. Steps of an epoch.
        epochs: int > 0.
        thaw: int ≥ 0. Step from which the encoder trains.

    Returns:
        list of `Stretch`, in order; empty where nothing is left.

    Example:
        >>> [tuple(value)[:4] for value in stretches(start=7, steps=5, epochs=4, thaw=0)]
        [(7, 1, 2, 3), (10, 2, 4, 5)]
    """
    total = steps * epochs
    around = (thaw // steps * steps, thaw, -(-thaw // steps) * steps)
    ends = {start, -(-start // steps) * steps, total, *around}
    marks = sorted(mark for mark in ends if start <= mark <= total)
    parts = []
    for first, end in pairwise(marks):
        epoch, whole = first // steps, first % steps == 0 and end % steps == 0
        size = steps if whole else end - first
        last = end // steps if whole else epoch + 1
        parts.append(Stretch(first, epoch, last, size, first < thaw, end % steps == 0))
    return parts
