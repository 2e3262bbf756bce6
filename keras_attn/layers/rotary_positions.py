"""Rotary positions."""

import keras
from keras import ops

from keras_attn.checks import check_above, check_flag, check_sizes
from keras_attn.layers.relative_positions import RelativePositions
from keras_attn.ops.positions import positions_from
from keras_attn.ops.rotary import ROTARY_BASE, rotate, scaled_frequencies


@keras.saving.register_keras_serializable(package="keras_attn")
class RotaryPositions(RelativePositions):
    """Turns pairs of features by angles that grow with the position; see `ops.rotate`.

        q_t · k_s = Re Σ_i q_i k_i* e^{i (t − s) θ_i},  θ_i = base^(−2i / units)

    `MultiHeadAttention(positions=RotaryPositions())` turns its queries and keys.

    Args:
        base: float > 1. The slowest pair turns once in about 2π·base positions.
        units: int > 0, even, or None. Number of features of a head that are turned, the first ones;
            None is all.
        interleaved: bool. Whether neighbors are a pair, as in the paper; False pairs feature i with
            feature i + units/2, as most checkpoints do.
        scaling: dict or None. Stretches positions, as a checkpoint's `rope_scaling` does; see
            `ops.scaled_frequencies`.

    Call arguments:
        inputs: float (B, H, T, D), queries or keys by head.
        start_index: int scalar or int (B,). Position of the first step.

    Returns:
        (B, H, T, D), compute dtype; angles in float32.

    Raises:
        ValueError: base ≤ 1; an odd width, or one below units; a scaling that
            `ops.scaled_frequencies` refuses; inputs without an axis for the heads.

    Example:
        >>> tuple(RotaryPositions()(ops.ones((2, 3, 5, 4))).shape)
        (2, 3, 5, 4)

    Source: Su et al. 2021, arXiv:2104.09864, 3.2; scaling Chen et al. 2023, arXiv:2306.15595,
    Grattafiori et al. 2024, arXiv:2407.21783, and Peng et al. 2023, arXiv:2309.00071.
    """

    def __init__(self, base=ROTARY_BASE, units=None, interleaved=False, scaling=None, **kwargs):
        super().__init__(**kwargs)
        check_above("base", base, 1)
        if units is not None:
            check_sizes(units=units)
            _check_even("units", units)
        self.base, self.units = base, units
        self.interleaved = check_flag("interleaved", interleaved)
        scaled_frequencies(units or 2, base, scaling)
        self.scaling = None if scaling is None else dict(scaling)

    def check_heads(self, num_heads, key_dim):
        if self.units is None:
            _check_even("key_dim", key_dim)
        elif self.units > key_dim:
            raise ValueError(
                f"Expected heads of at least units={self.units} features under RotaryPositions. "
                f"Received: key_dim={key_dim}"
            )

    def rotate(self, inputs, positions):
        units = self.units or inputs.shape[-1]
        frequencies, factor = scaled_frequencies(units, self.base, self.scaling)
        return rotate(inputs, positions, frequencies, self.interleaved, factor)

    def bias(self, query_positions, key_positions):
        return None

    def call(self, inputs, start_index=0):
        if len(inputs.shape) != 4:
            raise ValueError(
                "Expected queries or keys by head, of shape (B, H, T, D). "
                f"Received: shape={tuple(inputs.shape)}"
            )
        self.check_heads(inputs.shape[1], inputs.shape[-1])
        positions = positions_from(start_index, ops.shape(inputs)[2])
        by_row = positions[:, None, :] if len(positions.shape) == 2 else positions
        return self.rotate(inputs, by_row)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def _check_even(name, width):
    if width % 2:
        raise ValueError(
            f"Expected an even {name}, for RotaryPositions turns pairs of features. "
            f"Received: {name}={width}"
        )
