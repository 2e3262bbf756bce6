"""Weights of an answer, as declared views read them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MOST_SHARE = 1.001
"""A weight of 1, but for rounding."""


def weights_of(answer: Mapping[str, Any], output: str, axes: Sequence[int]) -> np.ndarray:
    """An output of finite numbers, as float32.

    Args:
        answer: of a signature, for one request, as NumPy arrays by name.
        output: its name.
        axes: how many axes it may have.

    Raises:
        ValueError: no numbers, another number of axes, none at all, or a number that is not
            finite.
    """
    weights = np.asarray(answer[output])
    if weights.dtype.kind not in "fiub" or weights.ndim not in axes or not weights.size:
        raise ValueError(
            f"Expected numbers of {' or '.join(map(str, axes))} axes as {output}. "
            f"Received: {weights.dtype} of shape {weights.shape}"
        )
    with np.errstate(over="ignore"):
        weights = weights.astype("float32", copy=False)
    if not np.isfinite(weights).all():
        raise ValueError(f"Expected finite numbers as {output}. Received: others")
    return weights


def pixels_of(answer: Mapping[str, Any], output: str) -> np.ndarray:
    """An output that is a picture, uint8 (height, width, 3).

    Raises:
        ValueError: another type or shape.
    """
    pixels = np.asarray(answer[output])
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(
            f"Expected uint8 (height, width, 3) as {output}. "
            f"Received: {pixels.dtype} of shape {pixels.shape}"
        )
    return pixels


def check_shares(output: str, weights) -> None:
    """Raises ValueError for a weight below 0 or, but for rounding, above 1."""
    if np.min(weights) < 0 or np.max(weights) > MOST_SHARE:
        raise ValueError(f"Expected {output} between 0 and 1. Received: others")


def check_places(output: str, weights, places: Mapping[int, Sequence[Sequence[int]]]) -> None:
    """Checks that weights have all places of the names of their axes.

    Args:
        output: the name of the weights.
        weights: array.
        places: for an axis the places of each of its names, see `Names`.

    Raises:
        ValueError: names of places that the weights do not have.
    """
    needed = {
        axis: 1 + max(map(max, filter(None, groups)), default=-1) for axis, groups in places.items()
    }
    if any(weights.shape[axis] < size for axis, size in needed.items()):
        raise ValueError(
            f"Expected {output} for {' × '.join(map(str, needed.values()))} places. "
            f"Received: shape {weights.shape}"
        )
