"""Boolean masks with one polarity: True = attend."""

import keras
import numpy as np
from keras import ops

from keras_attn.ops.known_values import known_values


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


def sliding_window_mask(query_length, key_length, window):
    """Lets query t see the keys less than `window` positions away, on both sides.

    Args:
        query_length: int. T.
        key_length: int. S.
        window: int > 0.

    Returns:
        bool (T, S).

    Example:
        >>> ops.convert_to_numpy(sliding_window_mask(1, 3, 2)).tolist()
        [[True, True, False]]
    """
    return ops.abs(ops.arange(key_length)[None, :] - ops.arange(query_length)[:, None]) < window


def as_mask(mask, name="mask", shape=None):
    """A mask as bool; integers count as 0 and 1.

    Args:
        mask: bool or int tensor.
        name: str. Its name in messages.
        shape: tuple of int or None, or None. What the mask's shape must be; None in it is any size.

    Raises:
        ValueError: a mask of floats, which other libraries add to scores; another shape.

    Example:
        >>> as_mask([0.0, -1e9])
        Traceback (most recent call last):
            ...
        ValueError: Expected mask to be bool, True = attend. Received: dtype=float32
    """
    mask = ops.convert_to_tensor(mask)
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if dtype != "bool" and "int" not in dtype:
        raise ValueError(f"Expected {name} to be bool, True = attend. Received: dtype={dtype}")
    values = None if dtype == "bool" else known_values(mask)
    if values is not None and not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"Expected {name} to be bool, True = attend, or 0 and 1. "
            f"Received: integers from {values.min()} to {values.max()}"
        )
    if shape is not None:
        _check_shape(mask, name, shape)
    return ops.cast(mask, "bool")


def _check_shape(mask, name, shape):
    """Raises ValueError unless the mask's static shape may be `shape`."""
    actual = tuple(mask.shape)
    pairs = zip(actual, shape)
    if len(actual) != len(shape) or any(None not in pair and len({*pair}) > 1 for pair in pairs):
        hint = ""
        if len(actual) > len(shape):
            hint = "; pass a mask of pairs of positions as attention_mask"
        raise ValueError(
            f"Expected {name} of shape {_readable(shape)}{hint}. Received: shape={actual}"
        )


def zero_masked(inputs, mask):
    """Sets masked positions to 0, so that they affect neither values nor gradients.

    Call it before computing with the inputs. A weight of 0 afterwards does not exclude a NaN or an
    infinity, since 0 · NaN is NaN: in the values, or in the gradient.

    Args:
        inputs: tensor (..., D).
        mask: bool, broadcastable to the inputs' leading axes; True = keep. None: no mask.

    Returns:
        The inputs' shape and dtype.

    Example:
        >>> inputs = ops.array([[2.0], [float("nan")]])
        >>> ops.convert_to_numpy(zero_masked(inputs, ops.array([True, False]))).tolist()
        [[2.0], [0.0]]
    """
    if mask is None:
        return inputs
    mask = as_mask(mask)
    for _ in range(len(inputs.shape) - len(mask.shape)):
        mask = ops.expand_dims(mask, -1)
    return ops.where(mask, inputs, 0)


def as_attention_mask(mask, batch, query_length, key_length, heads=None):
    """A mask of pairs of positions, bool and broadcastable to (B, T, S).

    Args:
        mask: bool (T, S) or (B, T, S), sizes of 1 included; with `heads` also (B, H, T, S).
        batch: int or None. B, where it is known.
        query_length: int or None. T.
        key_length: int or None. S.
        heads: int or None. H, where weights have an axis of heads.

    Returns:
        bool; with `heads` broadcastable to (B, H, T, S).

    Raises:
        ValueError: a mask of floats, or of another shape.
    """
    mask = as_mask(mask, "attention_mask")
    actual, last = tuple(mask.shape), (query_length, key_length)
    allowed = {2, 3} if heads is None else {2, 3, 4}
    wanted = {2: last, 3: (batch, *last), 4: (batch, heads, *last)}.get(len(actual))
    if len(actual) not in allowed or not all(map(_fits, actual, wanted)):
        by_head = "" if heads is None else f" or (B, {heads}, T, S)"
        raise ValueError(
            f"Expected attention_mask broadcastable to (B, T, S){by_head} with B, T, S = "
            f"{_readable((batch, *last))}. Received: shape={actual}"
        )
    return ops.expand_dims(mask, 1) if heads is not None and len(actual) == 3 else mask


def _fits(size, wanted):
    return size in (None, 1) or wanted is None or size == wanted


def _readable(shape):
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"


def combine_masks(*masks):
    """Logical "and" of the masks that are not None, by broadcasting; None if there is none."""
    combined, seen = None, []
    for mask in masks:
        if mask is None or any(mask is former for former in seen):
            continue
        seen.append(mask)
        mask = as_mask(mask)
        combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
