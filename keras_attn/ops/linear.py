"""Matrix times rows of any leading shape."""

from keras import ops


def linear(inputs, kernel, bias=None):
    """x W + b for every row x, as one product of two matrices.

    A batched product of (B, T, D) with (D, E) multiplies B small matrices; one of (B·T, D) does the
    same work several times faster on a CPU.

    Args:
        inputs: float (..., D).
        kernel: float (D, E).
        bias: float (E,) or None.

    Returns:
        float (..., E).

    Example:
        >>> tuple(linear(ops.ones((2, 3, 5)), ops.ones((5, 7))).shape)
        (2, 3, 7)
    """
    leading = tuple(ops.shape(inputs))[:-1]
    outputs = ops.matmul(ops.reshape(inputs, (-1, inputs.shape[-1])), kernel)
    if bias is not None:
        outputs = outputs + bias
    return ops.reshape(outputs, (*leading, kernel.shape[-1]))


def split_heads(inputs, heads):
    """(B, T, H·d) to (B, H, T, d)."""
    leading = tuple(ops.shape(inputs))[:2]
    split = ops.reshape(inputs, (*leading, heads, inputs.shape[-1] // heads))
    return ops.transpose(split, (0, 2, 1, 3))


def merge_heads(inputs):
    """(B, H, T, d) to (B, T, H·d)."""
    batch, _, length, _ = ops.shape(inputs)
    units = inputs.shape[1] * inputs.shape[3]
    return ops.reshape(ops.transpose(inputs, (0, 2, 1, 3)), (batch, length, units))
