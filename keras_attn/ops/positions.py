"""Positions as vectors."""

import math

from keras import ops

LONGEST = 10000.0


def sinusoids(positions, units, base=LONGEST):
    """Sines and cosines of geometrically growing wavelength, interleaved.

        PE(p, 2i) = sin(p / base^(2i/D)),  PE(p, 2i + 1) = cos(p / base^(2i/D))

    Args:
        positions: int or float (...). p; any length, from any offset.
        units: int > 0. D; where it is odd, the last sine has no cosine.
        base: float > 0. 10000 in the paper.

    Returns:
        float32 (..., D), whatever the precision policy. Off by less than p · 10⁻⁷.

    Example:
        >>> ops.convert_to_numpy(sinusoids([0, 1], 4)).astype(float).round(2).tolist()
        [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.5.
    """
    pairs = (units + 1) // 2
    frequencies = [math.pow(base, -2 * pair / units) for pair in range(pairs)]
    positions = ops.cast(ops.expand_dims(ops.convert_to_tensor(positions), -1), "float32")
    angles = positions * ops.convert_to_tensor(frequencies, dtype="float32")
    both = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(both, (*tuple(ops.shape(angles))[:-1], 2 * pairs))[..., :units]


def positions_from(offset, length):
    """Positions of `length` steps after the first `offset` of each row.

    Args:
        offset: int scalar, or int (B,).
        length: int. T.

    Returns:
        int32 (T,), or (B, T).

    Example:
        >>> ops.convert_to_numpy(positions_from([0, 5], 3)).tolist()
        [[0, 1, 2], [5, 6, 7]]
    """
    offset = ops.expand_dims(ops.cast(offset, "int32"), -1)
    return offset + ops.arange(length, dtype="int32")
