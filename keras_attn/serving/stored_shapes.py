"""Compares the weights of a SavedModel with those of the model in its metadata."""

import math


def same_numbers(shape, stored) -> bool:
    """Whether a weight of `shape` is a reshape of a stored one.

    True if the shapes are equal or if one splits an axis of the other: attention layers in
    SavedModels from before 0.1.0 have (D, H·d) for (D, H, d).

    Args:
        shape: tuple of int.
        stored: tuple of int.

    Example:
        >>> same_numbers((7, 2, 3), (7, 6)), same_numbers((2, 3, 7), (6, 7))
        (True, True)
        >>> same_numbers((7, 6), (6, 7)), same_numbers((3, 2, 7), (3, 14, 1))
        (False, False)
    """
    fine, coarse = sorted((tuple(shape), tuple(stored)), key=len, reverse=True)
    if len(fine) == len(coarse):
        return fine == coarse
    places, ends = (
        [math.prod(shape[: n + 1]) for n in range(len(shape))] for shape in (fine, coarse)
    )
    return places[-1:] == ends[-1:] and set(ends) <= set(places)
