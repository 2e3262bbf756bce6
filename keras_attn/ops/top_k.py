"""Top-k for small k."""

from keras import ops

from keras_attn.ops.take_by_row import take_by_row

BLOCK = 32


def few_greatest(values, count):
    """The `count` greatest values of each row, like `keras.ops.top_k`; faster for few.

    The c greatest of a row lie in the c blocks of 32 whose maxima are greatest: one pass finds
    these, and only their values are sorted. Ties are broken by position.

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
    values = ops.reshape(values, (-1, blocks, BLOCK))
    _, chosen = ops.top_k(ops.max(values, axis=-1), count)
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)
    candidates = take_by_row(values, chosen)
    index = chosen[..., None] * BLOCK + ops.arange(BLOCK, dtype="int32")
    greatest, place = ops.top_k(ops.reshape(candidates, (-1, count * BLOCK)), count)
    index = ops.reshape(index, (-1, count * BLOCK))
    return greatest, take_by_row(index, ops.cast(place, "int32"))
