"""Matrix times rows of any leading shape."""

import abc

from keras import ops

EXTRA = 16


class Factor(abc.ABC):
    """Abstract: a kernel (D, E) that `linear` lets multiply rows itself.

    Attributes:
        shape: (D, E).
    """

    shape: tuple[int, int]

    @abc.abstractmethod
    def multiply(self, rows):
        """float (R, D) to float (R, E)."""


def linear(inputs, kernel, bias=None, units=None):
    """x W + b for every row x, as one product of two matrices.

    A batched product of (B, T, D) with (D, E) multiplies B small matrices; one of (B·T, D) does the
    same work several times faster on a CPU.

    Args:
        inputs: float (..., D).
        kernel: float (D, E), or a `Factor`.
        bias: float (E,) or None.
        units: int or None. Number of columns to compute, None for all; see `loop_kernel`.

    Returns:
        float (..., E), or (..., units).

    Example:
        >>> tuple(linear(ops.ones((2, 3, 5)), ops.ones((5, 7))).shape)
        (2, 3, 7)
    """
    rows = as_rows(inputs)
    outputs = kernel.multiply(rows) if isinstance(kernel, Factor) else ops.matmul(rows, kernel)
    if bias is not None:
        outputs = ops.add(outputs, bias)  # Not "+": only this is fused with the product.
    if units is not None and units < kernel.shape[-1]:
        outputs = outputs[:, :units]
    return rows_as(inputs, outputs)


def as_rows(inputs):
    """(..., D) to rows (R, D)."""
    return inputs if len(inputs.shape) == 2 else ops.reshape(inputs, (-1, inputs.shape[-1]))


def rows_as(inputs, rows):
    """Rows (R, E), made of those of `inputs`, (..., D), to (..., E)."""
    if len(inputs.shape) == 2:
        return rows
    return ops.reshape(rows, (*tuple(ops.shape(inputs))[:-1], rows.shape[-1]))


def loop_kernel(kernel, rows=0):
    """A kernel, or a bias, with 16 more columns of zeros, for products of few rows in a loop.

    Rows whose length is a multiple of a large power of two fall onto a few sets of a processor's
    cache. A product that has too few rows to make up for it then takes up to twice as long.

    Args:
        kernel: float (D, E) or (E,).
        rows: int. Rows of zeros to add, where the inputs have so many more columns.

    Returns:
        float (D + rows, E + 16) or (E + 16,).

    Example:
        >>> tuple(loop_kernel(ops.ones((3, 5)), rows=2).shape)
        (5, 21)
    """
    return ops.pad(kernel, ((0, rows), (0, EXTRA))[2 - len(kernel.shape) :])


def split_heads(inputs, heads, length=None):
    """(B, T, H·d) to (B, H, T, d); rows (B·T, H·d) where T > 0 is given."""
    batch = -1
    if length is None:
        batch, length, _ = ops.shape(inputs)
    units = inputs.shape[-1] // heads
    if isinstance(length, int) and length == 0:
        return ops.reshape(inputs, (batch, heads, 0, units))
    if isinstance(length, int) and length == 1:
        return ops.reshape(inputs, (-1, heads, 1, units))
    split = ops.reshape(inputs, (-1 if isinstance(length, int) else batch, length, heads, units))
    return ops.transpose(split, (0, 2, 1, 3))


def merge_heads(inputs):
    """(B, H, T, d) to rows (B·T, H·d)."""
    _, heads, length, units = inputs.shape
    if length != 1:
        inputs = ops.transpose(inputs, (0, 2, 1, 3))
    return ops.reshape(inputs, (-1, heads * units))
