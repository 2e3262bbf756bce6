"""Attention of decoding steps over a cache of earlier steps.

The K hypotheses of an example are neighbors among N = B·K rows. Each row owns a cache of slots and
writes the keys and values of its own steps there, where they stay. When hypothesis k goes on from
another one, not the cache moves but a mask: `ancestors[n, k, l]` says whether the kth cache of the
example holds step l of hypothesis n. So a step attends to the slots of all K caches of its example.

There is a slot for each of the L steps, or, under a sliding window, for the newest W: step l is
then in slot l mod W.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.ops.attend import attend, attention_weights
from keras_attn.ops.attention_context import attention_context
from keras_attn.ops.fill_slots import fill_slots
from keras_attn.ops.grouped_product import grouped_product
from keras_attn.ops.linear import split_heads
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.scores import capped_score

NEVER = 2**30
"""Position of a slot that holds no step yet: later than any query."""


class NextSteps(NamedTuple):
    """The next P steps of N = B·K hypotheses, in the form that every decoder layer needs.

    Attributes:
        width: K.
        steps: P.
        positions: int32 (N, P). Of the steps.
        slots: int32 (L,), or (N, W) under a window: the step that each slot holds.
        mask: bool (B, K, 1, K·P, L), (B, 1, P, L) where K is 1. Which slots of the K caches of its
            example each step sees.
        places: int32 (N·P·G, 3). Row, head and slot of a cache where each step leaves its part.
        real: bool (N·P, 1). Steps that leave something in the cache; None is all.
        kept: None; or, for several steps under a window, int32 (N, W): what each slot holds
            afterwards, among its W slots and the P steps behind them. The steps then see both, and
            `slots` and `mask` have W + P columns.
    """

    width: Any
    steps: Any
    positions: Any
    slots: Any
    mask: Any
    places: Any = None
    real: Any = None
    kept: Any = None

    def by_example(self, rows, heads):
        """(N·P, H·d) to (B, H, K·P, d)."""
        return split_heads(rows, heads, self.width * self.steps)

    def query_positions(self):
        """int32 (B, K·P)."""
        return ops.reshape(self.positions, (-1, self.width * self.steps))

    def slot_positions(self):
        """int32 (L,), or (B, L): the hypotheses of an example have consumed equally many steps."""
        return self.slots if len(self.slots.shape) == 1 else self.slots[:: self.width]


def next_steps(ancestors, time, steps, heads, real=None, window=None):
    """`NextSteps` of hypotheses.

    Args:
        ancestors: bool (N, K, L). Whether each of the K caches of the example holds each step; its
            own does from `time` on.
        time: int32 (N,). Steps consumed before.
        steps: int. P, steps consumed now; time + P ≤ L.
        heads: int. G, of keys and values.
        real: bool (N, P), steps that leave something in the cache; None is all.
        window: int or None. A step sees so many steps, itself included; caches then have
            min(window, L) slots.

    Returns:
        `NextSteps`.
    """
    width, length = ancestors.shape[1], ops.shape(ancestors)[2]
    time = ops.convert_to_tensor(time, "int32")
    positions = time[:, None] + ops.arange(steps, dtype="int32")
    row_real = None if real is None else ops.reshape(real, (-1, 1))
    if window is None:
        slots = ops.arange(length, dtype="int32")
        mask = _slots_mask(ancestors, slots, positions)
        places = _places(positions, heads)
        return NextSteps(width, steps, positions, slots, mask, places, row_real)
    size = cache_slots(length, window)
    if isinstance(steps, int) and steps == 1:  # Its slot held a step that left the window.
        slots = _newest(time, size)
        mask = _slots_mask(_at(ancestors, slots), slots, positions)
        places = _places(positions % size, heads)
        return NextSteps(width, steps, positions, slots, mask, places, row_real)
    before = _newest(time - 1, size)
    slots = ops.concatenate([before, positions], axis=1)
    own = own_caches(ops.shape(time)[0] // width, width, steps)
    holds = ops.concatenate([_at(ancestors, before), own], axis=2)
    mask = _slots_mask(holds, slots, positions, window)
    consumed = steps if real is None else ops.sum(ops.cast(real, "int32"), axis=1)
    after = _newest(time + consumed - 1, size)
    new = ops.logical_and(after >= time[:, None], after < NEVER)
    kept = ops.where(new, size + after - time[:, None], ops.arange(size, dtype="int32"))
    return NextSteps(width, steps, positions, slots, mask, None, row_real, kept)


def cache_slots(length, window=None):
    """Slots of a cache for so many steps, int or int32 scalar."""
    if window is None:
        return length
    return min(length, window) if isinstance(length, int) else ops.minimum(length, window)


def _newest(last, size):
    """The newest step ≤ last, int32 (N,), that each of the slots (N, W) holds; NEVER if none."""
    last = last[:, None]
    held = last - (last - ops.arange(size, dtype="int32")) % size
    return ops.where(held < 0, NEVER, held)


def _at(ancestors, slots):
    """`ancestors` (N, K, L) of the steps in slots (N, W): (N, K, W)."""
    last = ops.shape(ancestors)[2] - 1
    chosen = ops.minimum(slots, last)[:, None, :]
    shape = (ops.shape(ancestors)[0], ancestors.shape[1], ops.shape(slots)[1])
    return ops.take_along_axis(ancestors, ops.broadcast_to(chosen, shape), axis=2)


def _places(slots, heads):
    """int32 (N·P·G, 3): row, head and slot of steps with the slots (N, P)."""
    rows, steps = ops.shape(slots)
    places = (
        ops.arange(rows, dtype="int32")[:, None, None],
        ops.arange(heads, dtype="int32"),
        slots[:, :, None],
    )
    shape = (rows, steps, heads)
    places = ops.stack([ops.broadcast_to(place, shape) for place in places], axis=-1)
    return ops.reshape(places, (-1, 3))


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
        cache: float (N, G, L, d), zeros in slots of steps to come.
        update: float (N·P, G·d).
        steps: `NextSteps`.

    Returns:
        cache: float (N, G, L, d), a new one.
        seen: float (N, G, L, d), what the steps attend to: the same, or under a window (N, G, W +
            P, d).
    """
    update = zero_masked(update, steps.real)
    if steps.kept is None:
        rows = ops.reshape(update, (-1, cache.shape[-1]))
        is_empty = len(steps.slots.shape) == 1  # Under a window they hold steps that left it.
        cache = (fill_slots if is_empty else ops.scatter_update)(cache, steps.places, rows)
        return cache, cache
    seen = ops.concatenate([cache, split_heads(update, cache.shape[1], steps.steps)], axis=2)
    kept = ops.broadcast_to(steps.kept[:, None, :, None], ops.shape(cache))
    return ops.take_along_axis(seen, kept, axis=2), seen


def _slots_mask(ancestors, slots, positions, window=None):
    """Which slots of its example each of the next steps sees: its ancestors' and its own so far.

    Args:
        ancestors: bool (N, K, L), of the steps in the slots.
        slots: int32 (L,) or (N, L).
        positions: int32 (N, P).
        window: int or None. How many steps it sees.
    """
    _, width, length = ops.shape(ancestors)
    slots, positions = slots[..., None, :], positions[:, :, None]
    past = slots <= positions
    if window is not None:
        past = ops.logical_and(past, positions - slots < window)
    if width == 1:
        return past[:, None]
    steps = ops.shape(past)[1]
    seen = ops.logical_and(ancestors[:, None], past[:, :, None, :])
    seen = ops.reshape(seen, (-1, width * steps, width, length))
    return ops.transpose(seen, (0, 2, 1, 3))[:, :, None]


def attend_slots(query, keys, values, steps, soft_cap=None, bias=None, sinks=None):
    """Attention of the steps of an example over all its caches.

    The caches are read as they lie: a product for each cache and head, then a sum over caches.

    Args:
        query: float (B, H, K·P, d_k).
        keys: float (N, G, L, d_k), what `write_slots` says is seen.
        values: float (N, G, L, d_v), likewise.
        steps: `NextSteps`.
        soft_cap: float > 0 or None. See `ops.capped_score`.
        bias: float, broadcastable to (B, H, K·P, L), added to the scores; None for none.
        sinks: float32 (H, 1, 1), see `ops.attention_weights`; None for none.

    Returns:
        context: (B, H, K·P, d_v), dtype of the values.
    """
    if steps.width == 1 and soft_cap is None and sinks is None:
        return attention_context(query, keys, values, steps.mask, bias)
    if steps.width == 1:
        scores = capped_score(query, keys, soft_cap)
        scores = scores if bias is None else scores + ops.cast(bias, scores.dtype)
        return attend(scores, values, steps.mask, sinks=sinks)[0]
    leading = -1, steps.width, keys.shape[1], ops.shape(steps.mask)[-1]
    keys, values = (ops.reshape(array, (*leading, array.shape[-1])) for array in (keys, values))
    scores = capped_score(query[:, None], keys, soft_cap)
    if bias is not None:
        by_cache = bias if len(bias.shape) == 3 else bias[:, None]
        scores = scores + ops.cast(by_cache, scores.dtype)
    weights = ops.cast(attention_weights(scores, steps.mask, (-1, 1), sinks), values.dtype)
    if values.shape[2] == query.shape[1]:
        return ops.sum(ops.matmul(weights, values), axis=1)
    return ops.sum(grouped_product(weights, values, values.dtype), axis=1)
