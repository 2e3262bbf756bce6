"""Sinusoidal positions."""

import keras
from keras import ops

from keras_attn.checks import check_above, check_sizes
from keras_attn.layers.joined_positions import ADD, JoinedPositions
from keras_attn.ops.positions import LONGEST, positions_from, sinusoids


@keras.saving.register_keras_serializable(package="keras_attn")
class SinusoidalPositions(JoinedPositions):
    """Adds or concatenates the sinusoids of positions; see `ops.positions.sinusoids`.

    Args:
        join: "add" or "concatenate".
        units: int > 0 or None. Width of the sinusoids; None is the inputs' width D, which adding
            requires.
        base: float > 0. Its power is the longest wavelength, see `ops.positions.sinusoids`.
        offset: int ≥ 0. Added to every position.

    Call arguments:
        inputs: float (B, T, D).
        start_index: int scalar or int (B,). Position of the first step.

    Returns:
        (B, T, D), or (B, T, D + units) concatenated; compute dtype, sinusoids taken in float32;
        with the inputs' mask.

    Raises:
        ValueError: another `join`; units < 1; units ≠ D with "add"; base ≤ 0; offset < 0.

    Example:
        >>> tuple(SinusoidalPositions("concatenate", 4)(ops.zeros((2, 3, 5))).shape)
        (2, 3, 9)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.5.
    """

    def __init__(self, join=ADD, units=None, base=LONGEST, offset=0, **kwargs):
        super().__init__(join, units, **kwargs)
        check_above("base", base)
        check_sizes(least=0, offset=offset)
        self.base, self.offset = base, offset

    def call(self, inputs, start_index=0):
        positions = positions_from(start_index + self.offset, ops.shape(inputs)[1])
        units = self.units or inputs.shape[-1]
        return self.joined(inputs, sinusoids(positions, units, self.base))
