"""Declared views of pictures: maps of attention over them, and what was sampled from them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keras_attn.contracts import END_PIECE, IMAGE
from keras_attn.viz.declared.axes import Axis
from keras_attn.viz.declared.declared_view import DeclaredView
from keras_attn.viz.declared.plain import Input, Output
from keras_attn.viz.declared.weights import check_places, pixels_of, weights_of
from keras_attn.viz.labels import averaged, is_word
from keras_attn.viz.picture_heads import PictureHeads
from keras_attn.viz.views.picture_view import PictureView
from keras_attn.viz.views.sampling_view import SamplingView


@dataclass(frozen=True)
class PictureMap(DeclaredView):
    """Weights over the picture of a request.

    Attributes:
        weights: float (h, w); with steps (T, h, w), or (n, T, h, w) of several
            answers, of which one is taken; or (N, H, T, h, w) of layers and heads. With
            `grid`, float (N, H, S, S) of self-attention over places, row by row.
        steps: `Axis`, what looks, such as words of the answer; None for the picture as a whole.
        grid: float (h, w), that has the shape of the grid; '' where the weights
            have it.
        layer: what a layer is called.
        image: name of the input with the picture.
    """

    kind: ClassVar[str] = "picture_map"
    weights: Output
    steps: Axis | None = None
    grid: Output = ""
    layer: str = "layer"
    image: Input = IMAGE

    @property
    def follows_words(self):
        """Whether it can be drawn for one word."""
        return self.steps is not None and bool(self.heads)

    def read(self, answer, asked, index=0):
        axes = (4,) if self.grid else (3, 4, 5) if self.steps else (2, 5)
        weights = weights_of(answer, self.weights, axes)
        if self.grid:
            grid = weights_of(answer, self.grid, (2,)).shape
            weights = PictureHeads(weights, grid).maps()[:, :, None]
        elif weights.ndim == 4:
            weights = weights[index]
        while weights.ndim < 5:
            weights = weights[None]
        names: tuple[str, ...] = ()
        if self.steps is not None:
            read = self.steps.read(answer, asked, weights.shape[2], index)
            steps = [step for step in zip(*read) if step[0] not in ("", END_PIECE)]
            steps = [step for step in steps if is_word(step[0])] or steps
            names = tuple(name for name, _ in steps)
            places = [group for _, group in steps]
            check_places(self.weights, weights, {2: places})
            weights = averaged(weights, places, axis=2)
        return PictureView(self.name, pixels_of(asked, self.image), names, weights, self.layer)


@dataclass(frozen=True)
class Samples(DeclaredView):
    """The points of a picture that were read, and what came out.

    Attributes:
        picture: uint8 (height, width, 3).
        grid: float (rows, columns, 2), where in the picture each pixel of the
            crop was read, x and y from −1 to 1.
        crop: uint8 (rows, columns, 3).
        view: int (2,): which of several views was read, from 1, and of how many; '' for none.
    """

    kind: ClassVar[str] = "samples"
    picture: Output
    grid: Output
    crop: Output
    view: Output = ""

    def read(self, answer, asked, index=0):
        picture, crop = (pixels_of(answer, output) for output in (self.picture, self.crop))
        grid = weights_of(answer, self.grid, (3,))
        if grid.shape != (*crop.shape[:2], 2):
            raise ValueError(
                f"Expected {self.grid} with a point for each pixel of {self.crop}. "
                f"Received: shape {grid.shape}"
            )
        label = ""
        if self.view:
            places = np.asarray(answer[self.view])
            if places.shape != (2,) or places.dtype.kind not in "iu":
                raise ValueError(
                    f"Expected {self.view} to be two numbers. "
                    f"Received: {places.dtype} of shape {places.shape}"
                )
            view, count = places.tolist()
            label = f"view {view} of {count}" if count > 1 else ""
        return SamplingView(self.name, picture, grid, crop, label)
