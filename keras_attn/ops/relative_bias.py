"""Biases of scores that depend on how far a key is from its query."""

import math

import numpy as np
from keras import ops


def distances(query_positions, key_positions):
    """Position of each key minus that of each query.

    Args:
        query_positions: int (..., T).
        key_positions: int (..., S).

    Returns:
        int32 (..., T, S).

    Example:
        >>> ops.convert_to_numpy(distances([0, 1], [0, 1, 2])).tolist()
        [[0, 1, 2], [-1, 0, 1]]
    """
    queries, keys = (ops.cast(each, "int32") for each in (query_positions, key_positions))
    return keys[..., None, :] - queries[..., :, None]


def alibi_slopes(num_heads):
    """Slopes of ALiBi's heads: 2^(−8i / H) for i = 1 … H.

    Where H is no power of two, they are those of the power of two below, and then every other one
    of twice as many heads, as in the authors' program.

    Args:
        num_heads: int > 0. H.

    Returns:
        NumPy float64 (H,).

    Example:
        >>> alibi_slopes(4).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625]

    Source: Press et al. 2022, arXiv:2108.12409, 3.
    """
    whole = 2 ** int(math.log2(num_heads))
    slopes = np.exp2(-8 * np.arange(1, whole + 1) / whole)
    between = np.exp2(-4 * np.arange(1, 2 * whole + 1, 2) / whole)
    return np.concatenate([slopes, between[: num_heads - whole]])


def alibi_bias(query_positions, key_positions, num_heads):
    """ALiBi: −m_h · |t − s|, a penalty that grows with the distance, with a slope for each head.

    Args:
        query_positions: int (T,) or (B, T). t.
        key_positions: int (S,) or (B, S). s.
        num_heads: int > 0. H.

    Returns:
        float32 (H, T, S) or (B, H, T, S).

    Example:
        >>> ops.convert_to_numpy(alibi_bias([3], [0, 1, 2], 2))[0].tolist()
        [[-0.1875, -0.125, -0.0625]]

    Source: Press et al. 2022, arXiv:2108.12409, 3. Differs: keys after the query, which the paper
    does not let it see, are penalized alike.
    """
    away = ops.cast(ops.abs(distances(query_positions, key_positions)), "float32")
    slopes = ops.convert_to_tensor(alibi_slopes(num_heads), dtype="float32")
    return -slopes[:, None, None] * away[..., None, :, :]


def bucket_table(num_buckets, max_distance):
    """The bucket of each distance 0 … max_distance in one direction.

    The first half of the buckets hold a distance each; the others grow geometrically up to
    max_distance, and the last one holds all beyond.

    Args:
        num_buckets: int > 1.
        max_distance: int > num_buckets / 2.

    Returns:
        NumPy int32 (max_distance + 1,).

    Example:
        >>> bucket_table(4, 8).tolist()
        [0, 1, 2, 2, 3, 3, 3, 3, 3]

    Source: Raffel et al. 2020, arXiv:1910.10683, 2.1; the rounding is that of the authors' program.
    """
    exact = num_buckets // 2
    away = np.arange(max_distance + 1)
    ratios = np.log(np.maximum(away, exact) / np.float32(exact), dtype="float32")
    steps = ratios / np.float32(math.log(max_distance / exact)) * (num_buckets - exact)
    far = np.minimum(exact + steps.astype("int32"), num_buckets - 1)
    return np.where(away < exact, away, far).astype("int32")


def relative_buckets(query_positions, key_positions, num_buckets, max_distance, bidirectional):
    """T5's buckets of distances.

    Args:
        query_positions: int (T,) or (B, T).
        key_positions: int (S,) or (B, S).
        num_buckets: int. R.
        max_distance: int. Beyond it all distances share a bucket.
        bidirectional: bool. Whether keys after the query have the second half of the buckets;
            otherwise they share bucket 0.

    Returns:
        int32 (T, S) or (B, T, S), 0 to R − 1.

    Example:
        >>> ops.convert_to_numpy(relative_buckets([2], [0, 1, 2, 3], 8, 16, True)).tolist()
        [[2, 1, 0, 5]]

    Source: Raffel et al. 2020, arXiv:1910.10683, 2.1.
    """
    away = distances(query_positions, key_positions)
    one_way = num_buckets // 2 if bidirectional else num_buckets
    table = ops.convert_to_tensor(bucket_table(one_way, max_distance))
    before = ops.take(table, ops.clip(-away, 0, max_distance), axis=0)
    if not bidirectional:
        return before
    after = ops.take(table, ops.clip(away, 0, max_distance), axis=0) + one_way
    return ops.where(away > 0, after, before)
