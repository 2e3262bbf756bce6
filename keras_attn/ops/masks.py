"""Boolean masks with one polarity: True = attend."""

import keras
from keras import ops


def padding_mask(lengths, size):
    """Marks the first `lengths` of `size` positions.

    Args:
        lengths: int (...). Number of real positions.
        size: int. Padded length S.

    Returns:
        bool (..., S).

    Example:
        >>> ops.convert_to_numpy(padding_mask([1, 3], 3)).tolist()
        [[True, False, False], [True, True, True]]
    """
    lengths = ops.expand_dims(ops.convert_to_tensor(lengths), -1)
    return ops.arange(size, dtype=lengths.dtype) < lengths


def causal_mask(query_length, key_length):
    """Lets query t see keys 0 to t only.

    Args:
        query_length: int. T.
        key_length: int. S.

    Returns:
        bool (T, S).
    """
    return ops.arange(key_length)[None, :] <= ops.arange(query_length)[:, None]


def as_mask(mask):
    """A mask as bool; integers count as 0 and 1.

    Raises:
        ValueError: a mask of floats, which elsewhere is one that is added.
    """
    mask = ops.convert_to_tensor(mask)
    if "float" in keras.backend.standardize_dtype(mask.dtype):
        raise ValueError(f"Expected a bool mask, True = attend. Received: dtype={mask.dtype}")
    return ops.cast(mask, "bool")


def combine_masks(*masks):
    """Logical "and" of the masks that are not None, by broadcasting; None if there is none."""
    combined = None
    for mask in masks:
        if mask is None:
            continue
        mask = as_mask(mask)
        combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
