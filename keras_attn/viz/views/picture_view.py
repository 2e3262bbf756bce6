"""Steps that look at places of a picture."""

import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.checks import check_choice
from keras_attn.viz.page_parts import packed, picture_part, quantity_part
from keras_attn.viz.quantity import ALL, ATTENTION, EACH, Quantity
from keras_attn.viz.views.view import View

WHOLE = "picture"
"""What a page calls the only step of a view without words."""


@dataclass(frozen=True)
class PictureView(View):
    """Words, or the answer as a whole, that look at places of a picture.

    Attributes:
        name: of the view.
        picture: uint8 (height, width, 3).
        steps: T strings, the words; none where the answer looks as a whole.
        weights: float array (layers, heads, T, grid height, grid width), T = 1 without words.
        layer: what a layer is called.
        quantity: what the weights are, which are ≥ 0.
        scale: of a figure's colors, see `steps_figure`.

    Raises:
        ValueError: no such scale.
    """

    name: str
    picture: np.ndarray
    steps: Sequence[str]
    weights: np.ndarray
    layer: str = "layer"
    quantity: Quantity = ATTENTION
    scale: str = EACH

    def __post_init__(self):
        check_choice("scale", self.scale, (EACH, ALL))

    def figure(self, title=""):
        """The picture under the map of each word, layer and head."""
        from keras_attn.viz import picture_panels as draw

        (layers, heads, count), whole = self.weights.shape[:3], not self.steps
        if (layers, heads) == (1, 1):
            if whole and count == 1:
                shares = self.weights[0, 0, 0]
                return draw.rollout_figure(self.picture, shares, title, self.quantity)
            maps, coloring = self.weights[0, 0], {"scale": self.scale, "quantity": self.quantity}
            return draw.steps_figure(self.picture, self.steps, maps, title, **coloring)
        if whole and count == 1:
            maps, rows, columns = self.weights[:, :, 0], self._layers(layers), self._heads(heads)
            return draw.panels_figure(self.picture, maps, rows, columns, title, scale=self.scale)
        if whole:
            raise ValueError("Expected an answer with words. Received: an empty one")
        maps = np.moveaxis(self.weights, 2, 0).reshape(count, -1, *self.weights.shape[3:])
        columns = [
            f"{layer if head == 'head 1' else ''}\n{head}"
            for layer in self._layers(layers)
            for head in self._heads(heads)
        ]
        return draw.panels_figure(self.picture, maps, self.steps, columns, title, 1.2, self.scale)

    def word_figure(self, word: str, layer: int | None = None, title: str = ""):
        """The picture once for each layer and head, lit up where they looked for one word.

        Args:
            word: with or without the punctuation about it; the first, where it stands more than
                once.
            layer: from 1; None is every layer.
            title: over all of them.

        Raises:
            ValueError: no such word or layer.
        """
        from keras_attn.viz.picture_panels import panels_figure

        layers, heads = self.weights.shape[:2]
        if layer is not None and not 1 <= layer <= layers:
            raise ValueError(f"Expected a layer of 1..{layers}. Received: layer={layer}")
        bare = [step.strip(string.punctuation) or step for step in self.steps]
        if word not in bare:
            raise ValueError(f"Expected a word of {' '.join(bare)!r}. Received: {word!r}")
        chosen = slice(None) if layer is None else slice(layer - 1, layer)
        maps, names = self.weights[chosen, :, bare.index(word)], self._layers(layers)[chosen]
        title = f"“{word}” in: {title}"
        return panels_figure(self.picture, maps, names, self._heads(heads), title, scale=self.scale)

    def parts(self):
        """See `View`; a single map without words is drawn from its smallest share on."""
        layers, heads, count, *grid = self.weights.shape
        weights, steps = self.weights, list(self.steps)
        if not steps and count == 1:
            steps = [WHOLE]
            if (layers, heads) == (1, 1):
                weights = weights - weights.min()
        return [
            {
                "type": "picture",
                "name": self.name,
                **picture_part(self.picture),
                "steps": steps,
                "grid": grid,
                "layer": self.layer,
                "layers": layers,
                "heads": heads,
                "scale": self.scale,
                **quantity_part(self.quantity),
                "weights": packed(weights.reshape(layers, heads, count, grid[0] * grid[1])),
            }
        ]

    def _layers(self, count):
        return [f"{self.layer} {place}" for place in range(1, count + 1)]

    def _heads(self, count):
        return [f"head {place}" for place in range(1, count + 1)]
