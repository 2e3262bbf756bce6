"""Attention of decoding steps over a cache of earlier steps.

The K hypotheses of an example are neighbors among N = B·K rows. Each row owns a cache of L slots
and writes the keys and values of its own steps there, where they stay. When hypothesis k goes on
from another one, not the cache moves but a mask: `ancestors[n, k, l]` says whether the kth cache of
the example holds step l of hypothesis n. So a step attends over all K·L slots of its example.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.ops.attend import attend, attention_weights
from keras_attn.ops.linear import split_heads
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.scores import scaled_dot_score


class NextSteps(NamedTuple):
    """The next P steps of N = B·K hypotheses, in the form that every decoder layer needs.

    Attributes:
        width: K.
        steps: P.
        places: int32 (N·P·H, 3). Row, head and slot of a cache where each step leaves its part.
        mask: bool (B, K, 1, K·P, L), (B, 1, P, L) where K is 1. Which slots of the K caches of its
            example each step sees.
        real: bool (N·P, 1). Steps that leave something in the cache; None is all.
    """

    width: Any
    steps: Any
    places: Any
    mask: Any
    real: Any = None

    def by_example(self, rows, heads):
        """(N·P, H·d) to (B, H, K·P, d)."""
        return split_heads(rows, heads, self.width * self.steps)


def next_steps(ancestors, time, steps, heads, real=None):
    """`NextSteps` of hypotheses.

    Args:
        ancestors: bool (N, K, L). Whether each of the K caches of the example holds each step; its
            own does from `time` on.
        time: int32 (N,). Steps consumed before.
        steps: int. P, steps consumed now; time + P ≤ L.
        heads: int. H.
        real: bool (N, P), steps that leave something in the cache; None is all.

    Returns:
        `NextSteps`.
    """
    rows = ops.shape(time)[0]
    shape = (rows, steps, heads)
    places = (
        ops.arange(rows, dtype="int32")[:, None, None],
        ops.arange(heads, dtype="int32"),
        (time[:, None] + ops.arange(steps, dtype="int32"))[:, :, None],
    )
    places = ops.stack([ops.broadcast_to(place, shape) for place in places], axis=-1)
    return NextSteps(
        ancestors.shape[1],
        steps,
        ops.reshape(places, (-1, 3)),
        _slots_mask(ancestors, time, steps),
        None if real is None else ops.reshape(real, (-1, 1)),
    )


def own_caches(batch, width, length):
    """`ancestors` of hypotheses that hold all of their steps themselves: bool (B·K, K, L).

    Example:
        >>> ops.convert_to_numpy(own_caches(1, 2, 3)).astype(int).tolist()
        [[[1, 1, 1], [0, 0, 0]], [[0, 0, 0], [1, 1, 1]]]
    """
    eye = ops.eye(width, dtype="bool")[None, :, :, None]
    return ops.reshape(ops.broadcast_to(eye, (batch, width, width, length)), (-1, width, length))


def owning_from(ancestors, time):
    """`ancestors` of hypotheses that hold the steps from `time` on themselves.

    Args:
        ancestors: bool (N, K, L), of the hypotheses that they go on from.
        time: int32 (N,). Steps consumed before.

    Returns:
        bool (N, K, L).
    """
    rows, width, length = ops.shape(ancestors)
    before = ops.arange(length, dtype="int32") < time[:, None]
    return ops.where(before[:, None, :], ancestors, own_caches(rows // width, width, length))


def hypotheses_of(rows, batch):
    """K, from N and B; 0 for an empty batch."""
    if isinstance(batch, int):
        return rows // max(batch, 1)
    # What is neither a number nor a tensor is a size of JAX's that it does not know, and not 0.
    return rows // (ops.maximum(batch, 1) if ops.is_tensor(batch) else batch)


def write_slots(cache, update, steps):
    """Writes the next steps of each row into its slots.

    Args:
        cache: float (N, H, L, d).
        update: float (N·P, H·d).
        steps: `NextSteps`.

    Returns:
        float (N, H, L, d), a new cache.
    """
    update = zero_masked(update, steps.real)
    return ops.scatter_update(cache, steps.places, ops.reshape(update, (-1, cache.shape[-1])))


def _slots_mask(ancestors, time, steps):
    """Which slots of its example each of the next steps sees: its ancestors' and its own so far."""
    _, width, length = ops.shape(ancestors)
    last = time[:, None] + ops.arange(steps, dtype="int32")
    past = ops.arange(length, dtype="int32") <= last[:, :, None]
    if width == 1:
        return past[:, None]
    seen = ops.logical_and(ancestors[:, None], past[:, :, None, :])
    seen = ops.reshape(seen, (-1, width * steps, width, length))
    return ops.transpose(seen, (0, 2, 1, 3))[:, :, None]


def attend_slots(query, keys, values, steps):
    """Scaled dot-product attention of the steps of an example over all its caches.

    The caches are read as they lie: a product for each cache and head, then a sum over caches.

    Args:
        query: float (B, H, K·P, d_k).
        keys: float (N, H, L, d_k).
        values: float (N, H, L, d_v).
        steps: `NextSteps`.

    Returns:
        context: (B, H, K·P, d_v), dtype of the values.
    """
    if steps.width == 1:
        return attend(scaled_dot_score(query, keys), values, steps.mask)[0]
    leading = -1, steps.width, query.shape[1], ops.shape(steps.mask)[-1]
    keys, values = (ops.reshape(array, (*leading, array.shape[-1])) for array in (keys, values))
    weights = attention_weights(scaled_dot_score(query[:, None], keys), steps.mask, (-1, 1))
    return ops.sum(ops.matmul(ops.cast(weights, values.dtype), values), axis=1)
