"""A text, each word with one weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.viz.page_parts import quantity_part
from keras_attn.viz.quantity import SHARE, Quantity
from keras_attn.viz.views.view import View


@dataclass(frozen=True)
class ShadedView(View):
    """A text, each word with one weight.

    Attributes:
        name: of the view.
        words: N strings.
        weights: float array (N,).
        quantity: what the weights are.
    """

    name: str
    words: Sequence[str]
    weights: np.ndarray
    quantity: Quantity = SHARE

    def figure(self, title=""):
        """The text, each word shaded by its weight."""
        from keras_attn.viz.shaded_text import shaded_text_figure

        return shaded_text_figure(self.words, self.weights, title, self.quantity)

    def parts(self):
        weights = [round(float(weight), 4) for weight in self.weights]
        words = {"words": list(self.words), "weights": weights}
        return [{"type": "shaded", "name": self.name, **words, **quantity_part(self.quantity)}]
