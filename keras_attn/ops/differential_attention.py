"""Differential attention: the difference of two softmax maps."""

import math

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.ops.attend import attention_weights
from keras_attn.ops.grouped_product import grouped_product
from keras_attn.ops.scores import scaled_dot_score


def differential_attention(query, keys, values, scale, mask=None, bias=None, dropout=None):
    """Attends with one map of weights less a part of another.

        context = (softmax(Q₁ K₁ᵀ / √d) − λ softmax(Q₂ K₂ᵀ / √d)) V

    Args:
        query: float (B, H, T, 2·d). Q₁ and Q₂, concatenated.
        keys: float (B, G, S, 2·d). K₁ and K₂; each for H / G heads of queries.
        values: float (B, G, S, d_v), finite also where masked; see `zero_masked`.
        scale: float32 scalar. λ.
        mask: bool, broadcastable to (B, H, T, S); True = attend.
        bias: float, broadcastable to (B, H, T, S), added to the scores of both maps; or None.
        dropout: function of the weights that the sum is taken with, or None.

    Returns:
        context: (B, H, T, d_v), dtype of the values.
        weights: float32 (B, H, T, S) before dropout; they may be negative. Rows sum to 1 − λ, or
            are all 0 where fully masked.

    Source: Ye et al. 2024, arXiv:2410.05258, 2.1.
    """
    maps = []
    for part, part_keys in zip(halves(query), halves(keys)):
        scores = scaled_dot_score(part, part_keys)
        scores = scores if bias is None else scores + ops.cast(bias, scores.dtype)
        maps.append(attention_weights(scores, mask))
    weights = maps[0] - scale * maps[1]
    used = weights if dropout is None else dropout(weights)
    dtype = keras.backend.standardize_dtype(values.dtype)
    return grouped_product(ops.cast(used, dtype), values, dtype), weights


def halves(inputs):
    """What belongs to each of the two maps: (..., 2·d) to two of (..., d)."""
    return ops.split(inputs, 2, axis=-1)


def differential_scale(queries, keys, initial):
    """How much of the second map is subtracted: λ = exp(q₁ · k₁) − exp(q₂ · k₂) + λ_init.

    Args:
        queries: float (2, d). q₁ and q₂.
        keys: float (2, d). k₁ and k₂.
        initial: float. λ_init.

    Returns:
        float32 scalar.

    Source: Ye et al. 2024, arXiv:2410.05258, 2.1.
    """
    products = ops.sum(ops.cast(queries, "float32") * ops.cast(keys, "float32"), axis=-1)
    first, second = ops.unstack(ops.exp(products))
    return first - second + initial


def initial_lambda(depth):
    """λ_init = 0.8 − 0.6 exp(−0.3 (l − 1)) of layer l, counted from 1.

    Args:
        depth: int > 0. l.

    Returns:
        float.

    Example:
        >>> [round(initial_lambda(depth), 2) for depth in (1, 2, 12)]
        [0.2, 0.36, 0.78]

    Raises:
        ValueError: depth < 1.

    Source: Ye et al. 2024, arXiv:2410.05258, 2.1.
    """
    check_sizes(depth=depth)
    return 0.8 - 0.6 * math.exp(-0.3 * (depth - 1))
