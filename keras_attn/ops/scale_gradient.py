"""Scaled gradients."""

from keras import ops


def scale_gradient(inputs, scale):
    """The inputs as they are; the gradient that flows back through them is scaled.

    Args:
        inputs: float (...).
        scale: float. Factor of the gradient.

    Returns:
        The inputs' values.

    Example:
        >>> ops.convert_to_numpy(scale_gradient(ops.array([2.0, 3.0]), 0.1)).tolist()
        [2.0, 3.0]

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.4.
    """
    scaled = inputs * scale
    return ops.stop_gradient(inputs) + (scaled - ops.stop_gradient(scaled))
