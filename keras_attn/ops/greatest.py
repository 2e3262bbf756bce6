"""The largest of numbers, of which there may be none.

Backend kernel: where Keras takes the largest with a first value on PyTorch, it makes that value on
the CPU, whatever the device.
"""

import keras
from keras import ops


def greatest(values, first, axis=-1, keepdims=False):
    """The largest of `first` and all values along an axis.

    Args:
        values: tensor (..., N, ...), N ≥ 0.
        first: number.
        axis: int.
        keepdims: bool. Whether the axis stays, with size 1.

    Example:
        >>> ops.convert_to_numpy(greatest(ops.array([[2, 3], [-5, -7]]), 0)).tolist()
        [3, 0]
        >>> ops.convert_to_numpy(greatest(ops.zeros((2, 0)), -1.0)).tolist()
        [-1.0, -1.0]
    """
    if keras.backend.backend() != "torch":
        return ops.max(values, axis=axis, keepdims=keepdims, initial=first)
    if 0 in values.shape:
        return ops.full_like(ops.sum(values, axis=axis, keepdims=keepdims), first)
    return ops.maximum(ops.max(values, axis=axis, keepdims=keepdims), first)
