"""Scaled dot-product self-attention to a neighborhood, without a full matrix of scores."""

from keras import ops

from keras_attn.ops.attend import attention_weights
from keras_attn.ops.scores import scaled_dot_score

SMALLEST_BLOCK = 32


def restricted_attention(query, keys, values, radius, key_mask=None, dropout=None, block=None):
    """Attention of each position to those at most `radius` away.

    Blocks of positions attend to themselves and the block before and after them, so time and
    memory are O(r·n·d) rather than O(n²·d). Equal to full attention under
    `sliding_window_mask(T, T, radius + 1)`.

    Args:
        query: float (B, H, T, d_k).
        keys: float (B, H, T, d_k), finite also where masked; see `zero_masked`.
        values: float (B, H, T, d_v).
        radius: int ≥ 0. r; the paper's neighborhood of r positions is 2·radius + 1.
        key_mask: bool (B, T); True = attend. All, if left out.
        dropout: function of the weights that the sum is taken with, or None.
        block: int ≥ max(radius, 1), positions of a block; max(radius, 32) if left out.

    Returns:
        context: (B, H, T, d_v), dtype of the values.
        weights: float32 (B, H, T, 2·radius + 1); the weight of position t + j − radius at j. Rows
            sum to 1, or are all 0 where fully masked; places outside the sequence are 0.

    Example:
        >>> inputs = ops.ones((1, 1, 5, 3))
        >>> context, weights = restricted_attention(inputs, inputs, inputs, radius=1)
        >>> ops.convert_to_numpy(weights)[0, 0, 0].tolist()
        [0.0, 0.5, 0.5]

    Source: Vaswani et al. 2017, arXiv:1706.03762, 4 ("restricted self-attention").
    """
    block = max(radius, SMALLEST_BLOCK) if block is None else block
    length = ops.shape(query)[2]
    count = (length + block - 1) // block
    if key_mask is None:
        key_mask = ops.ones((1, length), "bool")
    query = _blocks(query, 2, length, count, block)
    keys, values = (_windows(array, 2, length, count, block) for array in (keys, values))
    real = _windows(ops.cast(key_mask, "bool"), 1, length, count, block)[:, None, :, None, :]
    near = ops.abs(ops.arange(3 * block) - block - ops.arange(block)[:, None]) <= radius
    weights = attention_weights(scaled_dot_score(query, keys), ops.logical_and(real, near))
    used = weights if dropout is None else dropout(weights)
    context = _joined(ops.matmul(ops.cast(used, values.dtype), values), length)
    return context, _joined(_band(weights, block, radius), length)


def _blocks(inputs, axis, length, count, block):
    """(…, T, …) to (…, count, block, …), with 0 after the end."""
    shape = tuple(ops.shape(inputs))
    padding = [(0, 0)] * len(shape)
    padding[axis] = (0, count * block - length)
    split = (*shape[:axis], count, block, *shape[axis + 1 :])
    return ops.reshape(ops.pad(inputs, padding), split)


def _windows(inputs, axis, length, count, block):
    """(…, T, …) to (…, count, 3·block, …): each block between its neighbors, 0 outside."""
    blocks = _blocks(inputs, axis, length, count, block)
    padding = [(0, 0)] * len(blocks.shape)
    padding[axis] = (1, 1)
    blocks, before = ops.pad(blocks, padding), (slice(None),) * axis
    parts = [blocks[(*before, slice(first, first + count))] for first in range(3)]
    return ops.concatenate(parts, axis=axis + 1)


def _joined(blocks, length):
    """(B, H, count, block, d) to (B, H, T, d)."""
    batch, heads, count, block = (ops.shape(blocks)[axis] for axis in range(4))
    joined = ops.reshape(blocks, (batch, heads, count * block, blocks.shape[-1]))
    return joined[:, :, :length]


def _band(weights, block, radius):
    """(…, block, 3·block) to (…, block, 2·radius + 1): row i begins at column i + block − radius.

    Columns are dropped until row 0 is right; a width one larger then moves each row by one more.
    """
    weights = weights[..., block - radius :]
    leading, width = tuple(ops.shape(weights))[:-2], weights.shape[-1]
    flat = ops.reshape(weights, (*leading, block * width))
    flat = ops.pad(flat, [(0, 0)] * len(leading) + [(0, block)])
    return ops.reshape(flat, (*leading, block, width + 1))[..., : 2 * radius + 1]
