"""Attention of decoding steps over what earlier steps left in a cache.

The K hypotheses of an example are neighbors among N = B·K rows. Each row owns a cache of L slots
and writes the keys and values of its own steps there, where they stay. When hypothesis k goes on
from another one, not the cache moves but an index: `ancestors[n, l]` says which of the K caches of
the example holds step l of hypothesis n. So a step attends over all K·L slots of its example.
"""

from keras import ops

from keras_attn.ops.attend import attention_weights
from keras_attn.ops.scores import scaled_dot_score


def hypotheses_of(rows, batch):
    """K, from N and B; 0 for an empty batch."""
    return rows // (max(batch, 1) if isinstance(batch, int) else ops.maximum(batch, 1))


def write_slots(cache, update, time):
    """Writes P steps of each row into its slots from `time` on.

    Args:
        cache: float (N, H, L, d).
        update: float (N, H, P, d), time + P ≤ L.
        time: int32 (N,).

    Returns:
        float (N, H, L, d), a new cache.
    """
    rows, heads, steps = (ops.shape(update)[axis] for axis in range(3))
    shape = (rows, heads, steps)
    slots = time[:, None, None] + ops.arange(steps, dtype="int32")
    places = (
        ops.arange(rows, dtype="int32")[:, None, None],
        ops.arange(heads, dtype="int32")[:, None],
        slots,
    )
    indices = ops.stack([ops.broadcast_to(place, shape) for place in places], axis=-1)
    indices = ops.reshape(indices, (-1, 3))
    return ops.scatter_update(cache, indices, ops.reshape(update, (-1, update.shape[-1])))


def ancestry_mask(ancestors, time, steps, batch):
    """Which slots of its example each of the next steps sees: its ancestors' and its own so far.

    Args:
        ancestors: int32 (N, L). Which of the K caches of the example holds each step.
        time: int32 (N,). Steps consumed before.
        steps: int. P, steps consumed now.
        batch: int. B.

    Returns:
        bool (B, K·P, K, L).

    Example:
        >>> mask = ancestry_mask(ops.array([[1, 0, 0], [1, 1, 0]]), ops.array([1, 1]), 1, 1)
        >>> ops.convert_to_numpy(mask).astype(int).tolist()
        [[[[0, 1, 0], [1, 0, 0]], [[0, 0, 0], [1, 1, 0]]]]
    """
    length = ops.shape(ancestors)[-1]
    width = hypotheses_of(ops.shape(time)[0], batch)
    caches = ops.arange(width, dtype="int32")[:, None]
    owned = ops.equal(ancestors[:, None, None, :], caches)
    last = time[:, None] + ops.arange(steps, dtype="int32")
    past = ops.arange(length, dtype="int32") <= last[:, :, None]
    return ops.reshape(
        ops.logical_and(owned, past[:, :, None, :]), (batch, width * steps, width, length)
    )


def attend_slots(query, keys, values, mask):
    """Scaled dot-product attention of the steps of an example over all its caches.

    The caches are read as they lie: a product for each cache and head, then a sum over caches.

    Args:
        query: float (B, H, R, d_k). R = K·P rows of an example.
        keys: float (N, H, L, d_k).
        values: float (N, H, L, d_v).
        mask: bool (B, R, K, L), see `ancestry_mask`.

    Returns:
        context: (B, H, R, d_v), dtype of the values.
        weights: float32 (B, H, R, K·L).
    """
    batch, rows, width, length = (ops.shape(mask)[axis] for axis in range(4))
    heads, slots = query.shape[1], ops.shape(keys)[2]
    keys, values = (
        ops.reshape(one, (batch, width, heads, slots, one.shape[-1])) for one in (keys, values)
    )
    scores = scaled_dot_score(query[:, None], keys)
    scores = ops.transpose(scores, (0, 2, 3, 1, 4))
    scores = ops.reshape(scores, (batch, heads, rows, width * length))
    weights = attention_weights(scores, ops.reshape(mask, (batch, 1, rows, width * length)))
    by_cache = ops.reshape(weights, (batch, heads, rows, width, length))
    by_cache = ops.cast(ops.transpose(by_cache, (0, 3, 1, 2, 4)), values.dtype)
    return ops.sum(ops.matmul(by_cache, values), axis=1), weights
