"""Where every head of a Transformer captioner looked for each word, and pictures of it."""

import string
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import ANSWER_PIECES, CROSS_WEIGHTS, END_PIECE, TEXT
from keras_attn.viz.attention import fold_pieces
from keras_attn.viz.labels import drawable
from keras_attn.viz.overlay import add_scale, overlay
from keras_attn.viz.panels import panels, small


@dataclass(frozen=True)
class CaptionHeads:
    """One caption, and where each head of each layer looked for each of its words.

    Attributes:
        text: the caption.
        words: tuple of W strings.
        weights: float array (W, N, H, grid height, grid width); each map sums to 1.
    """

    text: str
    words: tuple[str, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, answer) -> "CaptionHeads":
        """From one answer of a captioner's `attention`, as NumPy arrays."""
        pieces = [piece.decode() for piece in answer[ANSWER_PIECES] if piece]
        pieces = pieces[: pieces.index(END_PIECE)] if END_PIECE in pieces else pieces
        by_piece = np.moveaxis(answer[CROSS_WEIGHTS], 2, 0)[: len(pieces)]
        words, weights = fold_pieces(pieces, by_piece)
        return cls(answer[TEXT].decode(), tuple(words), weights)

    def figure(self, picture):
        """The picture once for each word and head, a row a word, layers side by side.

        Args:
            picture: uint8 (height, width, 3).

        Returns:
            matplotlib Figure.

        Raises:
            ValueError: a caption without words.
        """
        if not self.words:
            raise ValueError("Expected a caption with words. Received: an empty one")
        image, (_, layers, heads, *_) = small(picture, 160), self.weights.shape
        title = drawable(self.text)
        figure, axes = panels(len(self.words), layers * heads, 1.2, image, title)
        for row, word in enumerate(self.words):
            axes[row, 0].set_ylabel(drawable(word), fontsize=9)
            for layer, head in np.ndindex(layers, heads):
                axis = axes[row, layer * heads + head]
                axis.imshow(overlay(image, self.weights[row, layer, head]))
                if row == 0:
                    first = f"layer {layer + 1}\n" if head == 0 else "\n"
                    axis.set_title(f"{first}head {head + 1}", fontsize=9, loc="left")
        add_scale(figure, axes)
        return figure

    def word_figure(self, picture, word: str, layer: int | None = None):
        """The picture once for each layer and head, lit up where they looked for one word.

        Args:
            picture: as in `figure`.
            word: as it stands in the caption; the first, where it stands there more than once.
            layer: int, 1 to N; None is every layer.

        Returns:
            matplotlib Figure.

        Raises:
            ValueError: no such word or layer.
        """
        layers, heads = self.weights.shape[1:3]
        if layer is not None and not 1 <= layer <= layers:
            raise ValueError(f"Expected a layer of 1..{layers}. Received: layer={layer}")
        bare = [own.strip(string.punctuation) or own for own in self.words]
        if word not in bare:
            raise ValueError(f"Expected a word of {' '.join(bare)!r}. Received: {word!r}")
        image, maps = small(picture, 224), self.weights[bare.index(word)]
        shown = range(layers) if layer is None else [layer - 1]
        figure, axes = panels(len(shown), heads, 1.6, image, drawable(f"{word}: {self.text}"))
        for row, shown_layer in enumerate(shown):
            axes[row, 0].set_ylabel(f"layer {shown_layer + 1}", fontsize=9)
            for head in range(heads):
                axes[row, head].imshow(overlay(image, maps[shown_layer, head]))
                if row == 0:
                    axes[0, head].set_title(f"head {head + 1}", fontsize=9)
        add_scale(figure, axes)
        return figure
