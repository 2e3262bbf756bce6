"""Rotary positions of the cells of a grid."""

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_above, check_sizes
from keras_attn.layers.relative_positions import RelativePositions


@keras.saving.register_keras_serializable(package="keras_attn")
class GridRotaryPositions(RelativePositions):
    """Turns pairs of features by angles that grow with a cell's row and with its column.

    The first half of the pairs turns with the row, the second with the column: pair i of n by
    2π y base^(−i / n), y the center of the cell in −1..1 from the grid's first to its last edge.
    Feature j makes a pair with feature j + D / 2. What stands before the grid is not turned.

    Args:
        height: int > 0. Of the grid, in cells.
        width: int > 0.
        before: int ≥ 0. Steps before the grid.
        base: float > 1.

    Call arguments:
        inputs: float (B, H, T, D), queries or keys by head, T = before + height · width.

    Returns:
        (B, H, T, D), compute dtype; angles in float32.

    Raises:
        ValueError: a size < 1; base ≤ 1; heads whose width is no multiple of 4.

    Example:
        >>> tuple(GridRotaryPositions(3, 5, before=1)(ops.ones((2, 3, 16, 4))).shape)
        (2, 3, 16, 4)

    Source: Siméoni et al. 2025, arXiv:2508.10104, 3.2, in evaluation: coordinates are not moved.
    """

    def __init__(self, height, width, before=0, base=100.0, **kwargs):
        super().__init__(**kwargs)
        check_sizes(height=height, width=width)
        check_above("base", base, 1)
        self.height, self.width, self.before, self.base = height, width, before, base

    def check_heads(self, num_heads, key_dim):
        if key_dim % 4:
            raise ValueError(
                "Expected heads whose width is a multiple of 4, for rows and columns each turn "
                f"pairs of features. Received: key_dim={key_dim}"
            )

    def angles(self, key_dim):
        """NumPy float32 (before + height · width, D / 2)."""
        frequencies = 2 * np.pi * self.base ** -np.arange(0, 1, 4 / key_dim)
        rows, columns = ((2 * np.arange(n) + 1) / n - 1 for n in (self.height, self.width))
        places = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2, 1)
        turned = (places * frequencies).reshape(len(places), -1)
        return np.pad(turned, [(self.before, 0), (0, 0)]).astype("float32")

    def rotate(self, inputs, positions):
        angles = ops.take(ops.convert_to_tensor(self.angles(inputs.shape[-1])), positions, axis=0)
        cosine, sine = ops.cos(angles), ops.sin(angles)
        first, second = ops.split(ops.cast(inputs, "float32"), 2, axis=-1)
        turned = [first * cosine - second * sine, second * cosine + first * sine]
        return ops.cast(ops.concatenate(turned, axis=-1), inputs.dtype)

    def bias(self, query_positions, key_positions):
        return None

    def call(self, inputs):
        self.check_heads(inputs.shape[1], inputs.shape[-1])
        return self.rotate(inputs, ops.arange(inputs.shape[2]))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
