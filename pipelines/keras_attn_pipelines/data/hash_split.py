"""Splits by content hash: equal records are always in the same split."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def place_of(digest: bytes) -> float:
    """A number in [0, 1) from a SHA-256."""
    return int.from_bytes(digest[:8], "big") / 2**64


def place_of_text(text: str) -> float:
    """A number in [0, 1) from the SHA-256 of a text."""
    return place_of(hashlib.sha256(text.encode()).digest())


def split_by_place(
    records: Sequence[T],
    places: Sequence[float],
    dev_share: float,
    test_share: float,
    need_dev: bool = True,
) -> dict[str, list[T]]:
    """Splits records into "train", "dev" and "test" by their hash values in [0, 1).

    Values below `dev_share` go to dev, the next `test_share` to test. With `need_dev`, dev is never
    empty: it gets the training records with the lowest value.

    Raises:
        ValueError: shares below 0 or with a sum of 1 or more.

    Example:
        >>> split_by_place("abc", [0.05, 0.15, 0.5], dev_share=0.1, test_share=0.1)
        {'train': ['c'], 'dev': ['a'], 'test': ['b']}
    """
    if dev_share < 0 or test_share < 0 or dev_share + test_share >= 1:
        raise ValueError(
            "Expected shares >= 0 with a sum < 1. "
            f"Received: dev_share={dev_share}, test_share={test_share}"
        )
    sides = [_side(place, dev_share, test_share) for place in places]
    if need_dev and "dev" not in sides and "train" in sides:
        lowest = min(place for place, side in zip(places, sides) if side == "train")
        sides = [
            "dev" if side == "train" and place == lowest else side
            for place, side in zip(places, sides)
        ]
    return {
        name: [record for record, side in zip(records, sides) if side == name]
        for name in ("train", "dev", "test")
    }


def _side(place, dev_share, test_share):
    if place < dev_share:
        return "dev"
    return "test" if place < dev_share + test_share else "train"
