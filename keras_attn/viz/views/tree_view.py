"""A tree over words, and the words that its brackets looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import END_PIECE
from keras_attn.viz.page_parts import token_part
from keras_attn.viz.views.view import View


@dataclass(frozen=True)
class TreeView(View):
    """A tree over words, and where each of its symbols looked.

    Attributes:
        name: of the view.
        words: W strings.
        tags: W strings.
        symbols: T strings, "(NP", ")NP" and others, one for each word.
        weights: float array (T, W + 1), the last column for the sentence's end; rows sum to 1.
    """

    name: str
    words: Sequence[str]
    tags: Sequence[str]
    symbols: Sequence[str]
    weights: np.ndarray

    def figure(self, title=""):
        """The tree over its words, and under it where its brackets looked."""
        from keras_attn.viz.trees import tree_figure

        return tree_figure(self.words, self.tags, self.symbols, self.weights)

    def parts(self):
        words, titles = (*self.words, END_PIECE), ("tree", "sentence")
        return [token_part(self.name, self.symbols, words, self.weights[None, None], titles)]
