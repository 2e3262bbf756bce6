"""Windows of local attention."""

from keras import ops

from keras_attn.ops.greatest import greatest


def memory_lengths(mask, batch, queries, keys):
    """True lengths of the memory: the place after the last key that each query may attend to.

    Args:
        mask: bool, broadcastable to (B, T, S); None for no mask.
        batch: int. B.
        queries: int. T.
        keys: int. S.

    Returns:
        int32 (B, T), from 0 to S.
    """
    if mask is None:
        return ops.full((batch, queries), keys, dtype="int32")
    places = ops.arange(1, keys + 1, dtype="int32")
    lengths = greatest(ops.where(mask, places, 0), 0)
    return ops.broadcast_to(lengths, (batch, queries))


def window_mask(centers, keys, window):
    """Keys within the window of each query, [p − D, p + D], clipped at both ends.

    Args:
        centers: float32 or int32 (B, T). p.
        keys: int. S.
        window: int ≥ 0. D.

    Returns:
        bool (B, T, S).

    Example:
        >>> window_mask(ops.array([[0, 3]]), 5, 1).numpy().astype(int).tolist()
        [[[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]]
    """
    centers = ops.cast(centers, "float32")[..., None]
    places = ops.arange(keys, dtype="float32")
    return ops.abs(places - centers) <= window


def gaussian_window(centers, keys, window):
    """exp(−(s − p)² / 2σ²) with σ = D/2: how much each key is favored by its distance.

    Args:
        centers: float32 (B, T). p.
        keys: int. S.
        window: int ≥ 1. D.

    Returns:
        float32 (B, T, S), at most 1.

    Source: Luong et al. 2015, arXiv:1508.04025, equation 10.
    """
    distance = ops.arange(keys, dtype="float32") - ops.cast(centers, "float32")[..., None]
    return ops.exp(-2.0 * ops.square(distance / window))
