"""Top-k for small k."""

from keras import ops

from keras_attn.ops.take_by_row import take_by_row

LEAST_BLOCK, MOST_BLOCK = 32, 256


def few_greatest(values, count):
    """The `count` greatest values of each row, like `keras.ops.top_k`; faster for few.

    The c greatest of a row lie in the c blocks whose maxima are greatest: one pass finds these, and
    only their values are sorted. Ties are broken by position.

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
    block = _block(length)
    blocks = -(-length // block)
    if 4 * count <= blocks:
        return _greatest_in_blocks(values, count, blocks, block)
    values, index = ops.top_k(values, count)
    return values, ops.cast(index, "int32")


def _block(length):
    """Width of a block: if there is one, a divisor of the length, so that nothing is padded."""
    widths = range(LEAST_BLOCK, MOST_BLOCK + 1)
    return next((width for width in widths if length % width == 0), LEAST_BLOCK)


def _greatest_in_blocks(values, count, blocks, block):
    missing = blocks * block - values.shape[-1]
    if missing:
        values = ops.pad(values, ((0, 0), (0, missing)), constant_values=float("-inf"))
    values = ops.reshape(values, (-1, blocks, block))
    _, chosen = ops.top_k(ops.max(values, axis=-1), count)
    chosen = ops.sort(ops.cast(chosen, "int32"), axis=-1)
    candidates = take_by_row(values, chosen)
    index = chosen[..., None] * block + ops.arange(block, dtype="int32")
    greatest, place = ops.top_k(ops.reshape(candidates, (-1, count * block)), count)
    index = ops.reshape(index, (-1, count * block))
    return greatest, take_by_row(index, ops.cast(place, "int32"))
