"""Sinusoidal positions."""

import keras
from keras import ops

from keras_attn.layers.joined_positions import JoinedPositions
from keras_attn.ops.positions import positions_from, sinusoids


@keras.saving.register_keras_serializable(package="keras_attn")
class SinusoidalPositions(JoinedPositions):
    """Adds or concatenates the sinusoids of positions; see `ops.positions.sinusoids`.

    Args:
        join: "add" or "concatenate".
        units: int > 0 or None. Width of the sinusoids; None is the inputs' width D, which adding
            requires.

    Call arguments:
        inputs: float (B, T, D).
        start_index: int scalar or int (B,). Position of the first step.

    Returns:
        (B, T, D), or (B, T, D + units) concatenated; compute dtype, sinusoids taken in float32;
        with the inputs' mask.

    Raises:
        ValueError: another `join`; units < 1; units ≠ D with "add".

    Example:
        >>> tuple(SinusoidalPositions("concatenate", 4)(ops.zeros((2, 3, 5))).shape)
        (2, 3, 9)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.5.
    """

    def call(self, inputs, start_index=0):
        positions = positions_from(start_index, ops.shape(inputs)[1])
        return self.joined(inputs, sinusoids(positions, self.units or inputs.shape[-1]))
