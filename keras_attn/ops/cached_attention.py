"""Attention of decoding steps over what earlier steps left in a cache.

The K hypotheses of an example are neighbors among N = B·K rows. Each row owns a cache of L slots
and writes the keys and values of its own steps there, where they stay. When hypothesis k goes on
from another one, not the cache moves but an index: `ancestors[n, l]` says which of the K caches of
the example holds step l of hypothesis n. So a step attends over all K·L slots of its example.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.ops.attend import attention_weights
from keras_attn.ops.linear import split_heads
from keras_attn.ops.scores import scaled_dot_score


class NextSteps(NamedTuple):
    """The next P steps of N = B·K hypotheses, as every layer of a decoder wants them.

    Attributes:
        batch: B.
        width: K.
        steps: P.
        places: int32 (N·P·H, 3). Row, head and slot of a cache where each step leaves its part.
        mask: bool (B, K, 1, K·P, L). Which slots of the K caches of its example each step sees.
        real: bool (N·P, 1). Steps that leave something in the cache; None is all.
    """

    batch: Any
    width: Any
    steps: Any
    places: Any
    mask: Any
    real: Any = None

    def by_example(self, rows, heads):
        """(N·P, H·d) to (B, H, K·P, d)."""
        return split_heads(rows, heads, self.batch, self.width * self.steps)


def next_steps(ancestors, time, steps, batch, heads, real=None):
    """`NextSteps` of hypotheses.

    Args:
        ancestors: int32 (N, L). Which of the K caches of the example holds each step; its own from
            `time` on.
        time: int32 (N,). Steps consumed before.
        steps: int. P, steps consumed now; time + P ≤ L.
        batch: int. B.
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
    mask = ops.transpose(ancestry_mask(ancestors, time, steps, batch), (0, 2, 1, 3))
    return NextSteps(
        batch,
        hypotheses_of(rows, batch),
        steps,
        ops.reshape(places, (-1, 3)),
        mask[:, :, None],
        None if real is None else ops.reshape(real, (-1, 1)),
    )


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
    if steps.real is not None:
        update = update * ops.cast(steps.real, update.dtype)
    return ops.scatter_update(cache, steps.places, ops.reshape(update, (-1, cache.shape[-1])))


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
    leading = steps.batch, steps.width, query.shape[1], ops.shape(steps.mask)[-1]
    keys, values = (ops.reshape(one, (*leading, one.shape[-1])) for one in (keys, values))
    weights = attention_weights(scaled_dot_score(query[:, None], keys), steps.mask, (-1, 1))
    return ops.sum(ops.matmul(ops.cast(weights, values.dtype), values), axis=1)
