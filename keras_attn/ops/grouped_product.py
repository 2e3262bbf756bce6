"""Products of many heads with few: grouped queries."""

from keras import ops

from keras_attn.ops.batched_product import batched_product


def grouped_product(left, right, dtype, transposed=False):
    """left · right over the last two axes, where H / G neighboring heads of `left` share one.

    Nothing is repeated: the rows of the heads of a group are multiplied at once.

    Args:
        left: float (..., H, T, D).
        right: float (..., G, D, S), or (..., G, S, D) if `transposed`; G divides H.
        dtype: str. Of what is returned.
        transposed: bool. Whether `right` is taken transposed.

    Returns:
        (..., H, T, S).

    Example:
        >>> left, right = ops.ones((2, 6, 3, 5)), ops.ones((2, 2, 7, 5))
        >>> tuple(grouped_product(left, right, "float32", True).shape)
        (2, 6, 3, 7)

    Source: Ainslie et al. 2023, arXiv:2305.13245, 2.2.
    """
    heads, groups = (left.shape[-3], right.shape[-3]) if len(left.shape) > 3 else (1, 1)
    if None in (heads, groups) or heads <= groups:
        return batched_product(left, right, dtype, transposed)
    *leading, _, rows, width = ops.shape(left)
    left = ops.reshape(left, (*leading, groups, heads // groups * rows, width))
    product = batched_product(left, right, dtype, transposed)
    *leading, _, _, columns = ops.shape(product)
    return ops.reshape(product, (*leading, heads, rows, columns))
