"""The few greatest of many."""

from keras import ops

BLOCK = 32


def few_greatest(values, count):
    """The `count` greatest values of each row, as `keras.ops.top_k`; quicker where they are few.

    The c greatest of a row lie in the c blocks of 32 whose maxima are greatest: one pass finds
    these, and only their values are sorted. Of equal values the first comes first.

    Args:
        values: float32 (N, V).
        count: int, 1 to V.

    Returns:
        values float32 (N, count), greatest first, and index int32 (N, count).

    Example:
        >>> values, index = few_greatest(ops.array([[2.0, 7.0, 5.0, 7.0]]), 3)
        >>> values.numpy().tolist(), index.numpy().tolist()
        ([[7.0, 7.0, 5.0]], [[1, 3, 2]])
    """
    length = values.shape[-1]
    blocks = -(-length // BLOCK)
    if 4 * count <= blocks:
        return _greatest_in_blocks(values, count, blocks)
    values, index = ops.top_k(values, count)
    return values, ops.cast(index, "int32")


def _greatest_in_blocks(values, count, blocks):
    missing = blocks * BLOCK - values.shape[-1]
    if missing:
        values = ops.pad(values, ((0, 0), (0, missing)), constant_values=float("-inf"))
    maxima = ops.max(ops.reshape(values, (-1, blocks, BLOCK)), axis=-1)
    _, chosen = ops.top_k(maxima, count)
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)
    rows = ops.arange(ops.shape(values)[0], dtype="int32")[:, None] * blocks
    found = ops.take(ops.reshape(values, (-1, BLOCK)), rows + chosen, axis=0)
    index = chosen[..., None] * BLOCK + ops.arange(BLOCK, dtype="int32")
    greatest, place = ops.top_k(ops.reshape(found, (-1, count * BLOCK)), count)
    index = ops.reshape(index, (-1, count * BLOCK))
    return greatest, ops.take_along_axis(index, ops.cast(place, "int32"), axis=1)
