"""Everything that a model attended to in one pair of texts, and pictures of it."""

import string
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    DECODER_WEIGHTS,
    ENCODER_WEIGHTS,
    SOURCE_PIECES,
    START_PIECE,
    TEXT,
)
from keras_attn.viz.explorer import TokenView
from keras_attn.viz.heads import heads_figure, words_figure
from keras_attn.viz.labels import folded, in_words

ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"
VIEWS = (ENCODER, DECODER, CROSS)
SHOWN = {CROSS: "Answer to source", ENCODER: "Source to itself", DECODER: "Answer to itself"}


@dataclass(frozen=True)
class EveryHead:
    """A pair of texts, and the weights of every layer and head.

    Attributes:
        text: the target.
        source: tuple of S strings, the source's pieces, its end included.
        target: tuple of T strings, the target's pieces, its end included.
        encoder: float array (N, H, S, S), or None for a model without self-attention there.
        decoder: float array (N, H, T, T), or None likewise.
        cross: float array (N, H, T, S).
    """

    text: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    encoder: np.ndarray | None
    decoder: np.ndarray | None
    cross: np.ndarray

    @classmethod
    def of(cls, answer) -> "EveryHead":
        """From one answer of a text service's `attention`, as NumPy arrays."""
        source, target = (
            tuple(piece.decode() for piece in answer[key] if piece)
            for key in (SOURCE_PIECES, ANSWER_PIECES)
        )
        rows, columns = len(target), len(source)
        encoder, decoder = answer.get(ENCODER_WEIGHTS), answer.get(DECODER_WEIGHTS)
        return cls(
            answer[TEXT].decode(),
            source,
            target,
            None if encoder is None else encoder[..., :columns, :columns],
            None if decoder is None else decoder[..., :rows, :rows],
            answer[CROSS_WEIGHTS][..., :rows, :columns],
        )

    def views(self) -> list[TokenView]:
        """What the attention explorer shows: a view for each kind of attention that there is."""
        shown = []
        for kind, title in SHOWN.items():
            if getattr(self, kind) is not None:
                weights, rows, columns, titles = self._in_words(kind)
                shown.append(TokenView(title, rows, columns, weights, titles))
        return shown

    def figure(self, view: str):
        """A matrix for each layer and head, of the weights of words.

        Rows of the decoder's own attention are the words that it predicts, columns those that it
        has read.

        Args:
            view: "encoder", "decoder" or "cross".

        Returns:
            matplotlib Figure.

        Raises:
            ValueError: another view, or one of a self-attention that the model does not have.
        """
        if view not in VIEWS:
            raise ValueError(f"Expected a view of {VIEWS}. Received: {view!r}")
        weights, rows, columns, _ = self._in_words(view)
        title = {ENCODER: "encoder", DECODER: "decoder", CROSS: "decoder to encoder"}[view]
        return heads_figure(weights, rows, columns, title)

    def word_figure(self, word: str, layer: int | None = None):
        """Lines from a word of the source to all pieces that it attends to in the encoder.

        Args:
            word: as it stands in the source, with or without the punctuation about it; all its
                pieces look, wherever it stands.
            layer: int, 1 to N; None is the last.

        Returns:
            matplotlib Figure.

        Raises:
            ValueError: no such word or layer, or no self-attention in the encoder.
        """
        weights = self._weights(ENCODER)
        layers = len(weights)
        layer = layers if layer is None else layer
        if not 1 <= layer <= layers:
            raise ValueError(f"Expected a layer of 1..{layers}. Received: layer={layer}")
        words, groups = in_words(self.source[:-1])
        bare = [own.strip(string.punctuation) or own for own in words]
        named = [word in both for both in zip(words, bare)]
        looking = [place for head, group in zip(named, groups) if head for place in group]
        if not looking:
            raise ValueError(f"Expected a word of {' '.join(words)!r}. Received: {word!r}")
        return words_figure(weights[layer - 1], self.source, looking, f"layer {layer}")

    def _in_words(self, view):
        """Weights of words, the words of rows and of columns, and what those are."""
        looking, looked_at, titles = {
            ENCODER: (self.source, self.source, ("source", "source")),
            DECODER: (self.target, (START_PIECE, *self.target[:-1]), ("answer", "read before")),
            CROSS: (self.target, self.source, ("answer", "source")),
        }[view]
        (rows, row_places), (columns, column_places) = in_words(looking), in_words(looked_at)
        weights = folded(self._weights(view), row_places, column_places)
        return weights, rows, columns, titles

    def _weights(self, view) -> np.ndarray:
        """The weights of a view; ValueError if the model has none."""
        weights = getattr(self, view)
        if weights is None:
            views = tuple(name for name in VIEWS if getattr(self, name) is not None)
            raise ValueError(
                f"Expected a view of {views}, for the model has no self-attention in the {view}. "
                f"Received: {view!r}"
            )
        return weights
