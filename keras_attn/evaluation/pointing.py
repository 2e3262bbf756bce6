"""Pointing: does the attention of an object's words land on the object?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Looked(NamedTuple):
    """The words of a caption, and where each of them looked.

    Attributes:
        words: T strings.
        weights: float (T, grid height, grid width).
    """

    words: Sequence[str]
    weights: Any


def points_at(weights, phrase: tuple[int, int], box, image_size: tuple[int, int]) -> bool:
    """Whether the attention of some word of a phrase peaks inside a box widened by one grid cell.

    The peak is the center of the cell with the largest weight.

    Args:
        weights: float (words, grid height, grid width).
        phrase: (start, stop) of the phrase's words.
        box: (left, top, right, bottom) in pixels.
        image_size: (height, width) in pixels.

    Raises:
        ValueError: the phrase is not inside the words.

    Example:
        >>> weights = np.eye(9).reshape(9, 3, 3)
        >>> points_at(weights, (0, 1), (60, 60, 90, 90), (90, 90))
        False
        >>> points_at(weights, (0, 5), (60, 60, 90, 90), (90, 90))
        True
    """
    weights = np.asarray(weights)
    words, rows, columns = weights.shape
    start, stop = phrase
    if not 0 <= start < stop <= words:
        raise ValueError(f"Expected a phrase inside {words} words. Received: phrase={phrase}")
    height, width = image_size[0] / rows, image_size[1] / columns
    left, top, right, bottom = box
    for word in weights[start:stop]:
        row, column = np.unravel_index(int(np.argmax(word)), word.shape)
        x, y = (column + 0.5) * width, (row + 0.5) * height
        if left - width <= x <= right + width and top - height <= y <= bottom + height:
            return True
    return False


def pointing_accuracy(explanations: Sequence[Looked], scenes: Sequence[dict], image_size) -> float:
    """Share of objects that the words of their phrase point at; see `points_at`.

    An object counts as missed where the caption does not have its phrase at its place.

    Args:
        explanations: for each picture `Looked`.
        scenes: for each picture a dict with "words" (of the true caption), "phrases" ((start, stop)
            of each object) and "boxes" (pixels).
        image_size: (height, width) in pixels.

    Returns:
        float in 0..1.

    Raises:
        ValueError: lengths differ, or there is no object.
    """
    if len(explanations) != len(scenes):
        raise ValueError(
            f"Expected as many explanations as scenes, {len(scenes)}. Received: {len(explanations)}"
        )
    hits = []
    for explanation, scene in zip(explanations, scenes):
        for phrase, box in zip(scene["phrases"], scene["boxes"]):
            wanted = list(scene["words"][slice(*phrase)])
            is_said = list(explanation.words[slice(*phrase)]) == wanted
            hits.append(is_said and points_at(explanation.weights, phrase, box, image_size))
    if not hits:
        raise ValueError("Expected at least one object. Received: none")
    return float(np.mean(hits))
