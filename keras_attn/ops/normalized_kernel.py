"""Weight normalization."""

from keras import ops

LEAST_SQUARE = 1e-30


def kernel_norms(direction):
    """The norm of the weights of each output unit.

    Args:
        direction: float (..., E). v.

    Returns:
        float32 (E,). ‖v_e‖.
    """
    direction = ops.cast(direction, "float32")
    return ops.sqrt(ops.sum(ops.square(direction), axis=_inner(direction)))


def normalized_kernel(direction, gain):
    """Weights of given norms: w_e = g_e · v_e / ‖v_e‖ for each output unit e.

    Args:
        direction: float (..., E). v.
        gain: float (E,). g, the norms.

    Returns:
        float32 (..., E). w; 0 where v is.

    Example:
        >>> kernel = normalized_kernel(ops.array([[3.0], [4.0]]), ops.array([10.0]))
        >>> ops.convert_to_numpy(kernel).round(4).tolist()
        [[6.0], [8.0]]

    Source: Salimans and Kingma 2016, arXiv:1602.07868, 2.
    """
    direction, gain = ops.cast(direction, "float32"), ops.cast(gain, "float32")
    squares = ops.sum(ops.square(direction), axis=_inner(direction))
    return direction * (gain * ops.rsqrt(ops.maximum(squares, LEAST_SQUARE)))


def _inner(kernel):
    return tuple(range(len(kernel.shape) - 1))
