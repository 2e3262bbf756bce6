"""Gated convolutions over a sequence, for all positions at once or one by one."""

from keras import ops

from keras_attn.ops.linear import linear


def gated_linear(inputs):
    """Gated linear unit: GLU([a; b]) = a ⊗ σ(b).

    Args:
        inputs: float (..., 2·F). The values a, then the gates b.

    Returns:
        float (..., F).

    Example:
        >>> ops.convert_to_numpy(gated_linear(ops.array([4.0, 0.0]))).tolist()
        [2.0]

    Source: Dauphin et al. 2016, arXiv:1612.08083, 2.
    """
    values, gates = ops.split(inputs, 2, axis=-1)
    return values * ops.sigmoid(gates)


def sequence_windows(inputs, width, before):
    """The window of each position, side by side; zeros beyond both ends.

        window_t = [x_{t − before}; …; x_{t − before + width − 1}]

    Args:
        inputs: float (B, T, C).
        width: int > 0. k, positions in a window.
        before: int, 0 to k − 1. Positions of the window before its own.

    Returns:
        float (B, T, k·C).

    Example:
        >>> windows = sequence_windows(ops.array([[[1], [2], [3]]]), 2, 1)
        >>> ops.convert_to_numpy(windows).tolist()
        [[[0, 1], [1, 2], [2, 3]]]
    """
    after = width - 1 - before
    padded = ops.pad(inputs, ((0, 0), (before, after), (0, 0)))
    parts = [padded[:, start : start - width + 1 or None] for start in range(width)]
    return ops.concatenate(parts, axis=-1)


def gated_convolution(windows, kernel, bias):
    """A convolution and its gate, GLU(x W + b), for windows x.

    As one product of two matrices, which for steps of a decoding loop is the same as for a whole
    sequence.

    Args:
        windows: float (..., k·C); see `sequence_windows`.
        kernel: float (k, C, 2·F).
        bias: float (2·F,).

    Returns:
        float (..., F).

    Example:
        >>> windows = sequence_windows(ops.ones((2, 3, 5)), 3, 1)
        >>> tuple(gated_convolution(windows, ops.ones((3, 5, 14)), ops.ones((14,))).shape)
        (2, 3, 7)
    """
    width, channels, outputs = kernel.shape
    return gated_linear(linear(windows, ops.reshape(kernel, (width * channels, outputs)), bias))
