"""Words that look at words: an alignment, self-attention, hops over a story."""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_attn.contracts import END_PIECE
from keras_attn.viz.labels import in_words
from keras_attn.viz.page_parts import token_part
from keras_attn.viz.quantity import ATTENTION, Quantity
from keras_attn.viz.views.view import View


@dataclass(frozen=True)
class TokenView(View):
    """Words that look at words, in one matrix or in that of each layer and head.

    Attributes:
        name: of the view.
        rows: T strings, what looks.
        columns: S strings, what is looked at.
        weights: float array (layers, heads, T, S).
        titles: of rows and columns.
        outlined: whether a single matrix has a frame about what a local or hard attention saw.
        sideways: whether a single matrix has a row for each column.
        pieces: in self-attention, P pieces of the words; else none.
        by_piece: their weights, float array (layers, heads, P, P).
        quantity: what the weights are.
    """

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    weights: np.ndarray
    titles: tuple[str, str] = ("answer", "source")
    outlined: bool = False
    sideways: bool = False
    pieces: Sequence[str] = ()
    by_piece: Any = None
    quantity: Quantity = ATTENTION

    def figure(self, title=""):
        """A matrix, or a small one for each layer and head."""
        from keras_attn.viz.heads import heads_figure
        from keras_attn.viz.matrix import matrix_figure

        if self.weights.shape[:2] != (1, 1):
            heading = f"{self.name}: {title}" if title else self.name
            return heads_figure(self.weights, self.rows, self.columns, heading)
        matrix, rows, columns, titles = self.weights[0, 0], self.rows, self.columns, self.titles
        if self.sideways:
            matrix, rows, columns, titles = matrix.T, columns, rows, titles[::-1]
        return matrix_figure(matrix, rows, columns, titles, self.outlined, title, self.quantity)

    def word_figure(self, word: str, layer: int | None = None, title: str = ""):
        """Lines from a word to the pieces that it attends to, in self-attention.

        Args:
            word: with or without the punctuation about it; all its pieces look, wherever it stands.
            layer: from 1; None is the last.
            title: unused, the words stand in the picture.

        Raises:
            ValueError: no such word or layer.
        """
        from keras_attn.viz.heads import words_figure

        layers = len(self.weights)
        layer = layers if layer is None else layer
        if not 1 <= layer <= layers:
            raise ValueError(f"Expected a layer of 1..{layers}. Received: layer={layer}")
        weights, places = self.by_piece[layer - 1], self._places_of(word)
        heading = f"“{word}” in layer {layer}, {len(weights)} heads"
        return words_figure(weights, self.pieces, places, heading)

    def parts(self):
        names = (self.name, self.rows, self.columns)
        return [token_part(*names, self.weights, self.titles, self.quantity)]

    def _places_of(self, word):
        """Places of all pieces of a word, with or without the punctuation about it."""
        pieces = list(self.pieces)
        words, groups = in_words(pieces[:-1] if pieces[-1:] == [END_PIECE] else pieces)
        bare = [whole.strip(string.punctuation) or whole for whole in words]
        named = [word in both for both in zip(words, bare)]
        places = [place for is_named, group in zip(named, groups) if is_named for place in group]
        if not places:
            raise ValueError(f"Expected a word of {' '.join(words)!r}. Received: {word!r}")
        return places
