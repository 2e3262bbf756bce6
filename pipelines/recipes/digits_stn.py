"""Handwritten digits turned, moved, stretched, bent or hidden in clutter, told apart by a CNN
behind a spatial transformer.

Command:
    keras-attn train digits_stn --data keras:mnist --out runs/digits
    keras-attn train digits_stn --data mnist.npz --distortion cluttered --transforms affine --out …

`--transforms none` is the CNN alone; `film.gif` in the run directory shows how the transformer
learns to read.
"""

from dataclasses import dataclass

from pipelines.digits import DigitsRecipe, option


@dataclass(frozen=True, kw_only=True)
class DigitsSpatialTransformer(DigitsRecipe):
    """The digits and the networks of the paper, trained for less long."""

    epochs: int = option(12, "passes over the training digits")
    learning_rate: float = option(3e-3, "peak learning rate")
    clip_norm: float = option(5.0, "largest norm of the global gradient")
    patience: int = option(12, "epochs without a better metric before training stops")


RECIPE = DigitsSpatialTransformer
