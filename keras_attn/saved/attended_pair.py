"""What a translator attends to while it reads a given translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_attn.alignment.most_attended import attention_links
from keras_attn.contracts import ANSWER_PIECES, CROSS_WEIGHTS, SOURCE_PIECES, WORD_MARK
from keras_attn.viz.labels import folded


@dataclass(frozen=True)
class AttendedPair:
    """A source, a target, and the attention of each layer and head between their words.

    Attributes:
        source: tuple of S words, separated by white space in the text.
        target: tuple of T words.
        predicting: float32 (N, H, T + 1, S + 1), how much a target word, last the end, attends to a
            source word, last its end, when the word is predicted.
        reading: float32 (N, H, T + 1, S + 1), the same when the word has just been read; the end's
            are those of the first step.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    predicting: np.ndarray
    reading: np.ndarray

    @classmethod
    def of(cls, answer, source: str, target: str) -> "AttendedPair":
        """From one answer of a text service's `align`, as NumPy arrays, and the two texts.

        Raises:
            ValueError: the tokenizer joins or separates words of a text ("Expected 3 words.
                Received: 4 in the tokenizer's form of 'a b c'").
        """
        columns = _word_places(answer[SOURCE_PIECES], source)
        rows = _word_places(answer[ANSWER_PIECES], target)
        steps = sum(map(len, rows))
        weights = answer[CROSS_WEIGHTS][..., :steps, : sum(map(len, columns))]
        # Row t predicts piece t and has just read piece t - 1.
        shifted = np.roll(weights, -1, axis=-2)
        matrices = (folded(each, rows, columns) for each in (weights, shifted))
        return cls(tuple(source.split()), tuple(target.split()), *matrices)

    def matrix(
        self, layer: int | None = None, head: int | None = None, reading: bool = False
    ) -> np.ndarray:
        """Attention of the target's words to the source's, float32 (T + 1, S + 1).

        Args:
            layer: int from 1, or None for the mean over layers.
            head: int from 1, or None for the mean over heads.
            reading: which steps' weights.

        Raises:
            ValueError: no such layer or head.
        """
        weights = self.reading if reading else self.predicting
        for name, place, count in zip(("layer", "head"), (layer, head), weights.shape):
            if place is not None and not 1 <= place <= count:
                raise ValueError(f"Expected a {name} of 1 to {count}. Received: {place}")
        layers = weights if layer is None else weights[layer - 1 : layer]
        heads = layers if head is None else layers[:, head - 1 : head]
        return heads.mean(axis=(0, 1))

    def links(
        self,
        layer: int | None = None,
        head: int | None = None,
        reading: bool = False,
        symmetrization: str = "forward",
    ) -> list[tuple[int, int]]:
        """Links (source word, target word) from 0; see `matrix` and `attention_links`."""
        return links_of(self.matrix(layer, head, reading), None, symmetrization)


def links_of(matrix, backward, symmetrization: str) -> list[tuple[int, int]]:
    """Sorted links (source word, target word) from 0; see `attention_links`."""
    pairs = np.argwhere(attention_links(matrix, backward, symmetrization))
    return [(source, target) for source, target in pairs.tolist()]


def _word_places(pieces: Sequence[Any], text: str) -> list[list[int]]:
    """Places of the pieces of each word that white space separates, and of the end."""
    places: list[list[int]] = []
    spelled = [piece.decode() for piece in pieces if piece]
    for place, piece in enumerate(spelled):
        if not places or piece.startswith(WORD_MARK) or place == len(spelled) - 1:
            places.append([])
        places[-1].append(place)
    words = len(text.split())
    if len(places) - 1 != words:
        raise ValueError(
            f"Expected {words} words. Received: {len(places) - 1} in the tokenizer's form of "
            f"{text!r:.80}"
        )
    return places
