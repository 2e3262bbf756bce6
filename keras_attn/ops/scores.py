"""Score functions: how well a query fits a key. All return float32 (B, T, S)."""

import math

import keras
from keras import ops

from keras_attn.ops.grouped_product import grouped_product


def dot_score(query, keys):
    """score(q, k) = q · k; of float16 in float32, for a score above 65,504 is infinite in float16.

    Args:
        query: float (B, T, D), or (B, H, T, D) by head.
        keys: float (B, S, D), or (B, G, S, D), each for H / G heads of queries.

    Returns:
        float32 (B, T, S), or (B, H, T, S).

    Raises:
        ValueError: query and keys of different widths.

    Source: Luong et al. 2015, arXiv:1508.04025, 3.1 ("dot").
    """
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            "Expected query and keys of one width (MultiplicativeAttention and AdditiveAttention "
            f"take several). Received: {query.shape[-1]} and {keys.shape[-1]}"
        )
    if keras.backend.standardize_dtype(query.dtype) == "float16":
        query, keys = ops.cast(query, "float32"), ops.cast(keys, "float32")
    return grouped_product(query, keys, "float32", transposed=True)


def scaled_dot_score(query, keys):
    """score(q, k) = q · k / √D, with D the width of the keys.

    Args and returns as in `dot_score`.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.2.1.
    """
    return dot_score(query * (1 / math.sqrt(keys.shape[-1])), keys)


def capped_score(query, keys, cap):
    """score(q, k) = c · tanh(q · k / (c √D)): never beyond ±c; the plain score without a cap.

    Args:
        query: float (B, T, D), or (B, H, T, D) by head.
        keys: float (B, S, D), or (B, G, S, D), each for H / G heads of queries.
        cap: float > 0. c; or None.

    Returns:
        float32 (B, T, S), or (B, H, T, S).

    Source: Gemma Team 2024, arXiv:2408.00118, 2 ("logit soft-capping").
    """
    scores = scaled_dot_score(query, keys)
    return scores if cap is None else ops.tanh(scores / cap) * cap


def multiplicative_score(query, keys, kernel):
    """score(q, k) = qᵀ W k.

    Args:
        query: float (B, T, D).
        keys: float (B, S, E).
        kernel: float (D, E). W.

    Returns:
        float32 (B, T, S).

    Source: Luong et al. 2015, arXiv:1508.04025, 3.1 ("general").
    """
    return dot_score(ops.matmul(query, kernel), keys)


def additive_score(projected_query, projected_keys, vector):
    """score(q, k) = v · tanh(W q + U k), from W q and U k.

    Args:
        projected_query: float (B, T, A). W q.
        projected_keys: float (B, S, A). U k.
        vector: float (A,). v.

    Returns:
        float32 (B, T, S).

    Source: Bahdanau et al. 2015, arXiv:1409.0473, A.1.2.
    """
    hidden = ops.tanh(projected_query[:, :, None, :] + projected_keys[:, None, :, :])
    hidden, vector = ops.cast(hidden, "float32"), ops.cast(vector, "float32")
    return ops.matmul(hidden, vector[:, None])[..., 0]
