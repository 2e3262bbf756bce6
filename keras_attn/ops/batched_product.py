"""Products of many pairs of matrices.

Backend kernel: for few rows, as in each step of a decoding loop, TensorFlow's `BatchMatMulV2` on a
CPU with oneDNN has an overhead of 30 µs, more than a step's own work. `BatchMatMulV3` does not go
to oneDNN, and multiplies single rows as quickly. For many rows oneDNN is faster.
"""

import keras
from keras import ops

FEW = 4
"""Rows for which a picture's caption of a beam gains, and 32 captions at once lose little."""
HALVES = ("bfloat16", "float16")


def batched_product(left, right, dtype, transposed=False):
    """left · right over the last two axes.

    Args:
        left: float (..., T, D).
        right: float (..., D, S), or (..., S, D) if `transposed`; leading axes broadcast.
        dtype: str. Of what is returned.
        transposed: bool. Whether `right` is taken transposed.

    Returns:
        (..., T, S). For T ≤ 4, half precision is multiplied in float32 on TensorFlow.

    Example:
        >>> result = batched_product(ops.ones((2, 1, 3)), ops.ones((2, 5, 3)), "float32", True)
        >>> tuple(result.shape)
        (2, 1, 5)
    """
    if keras.backend.backend() == "tensorflow" and ops.is_tensor(left) and _are_few(left.shape[-2]):
        import tensorflow as tf

        wide = keras.backend.standardize_dtype(left.dtype)
        wide = "float32" if wide in HALVES else wide
        left, right, several = ops.cast(left, wide), ops.cast(right, wide), left.shape[-2] > 1
        if several:
            left, right = left[..., None, :], right[..., None, :, :]
        product = tf.raw_ops.BatchMatMulV3(x=left, y=right, Tout=left.dtype, adj_y=transposed)
        product = product[..., 0, :] if several else product
    else:
        product = ops.matmul(left, ops.swapaxes(right, -1, -2) if transposed else right)
    return ops.cast(product, dtype)


def _are_few(rows):
    return rows is not None and rows <= FEW
