"""Values known to Python."""

import numpy as np
from keras import ops


def known_values(values):
    """A tensor as a NumPy array, or None for a symbolic tensor.

    Example:
        >>> known_values(ops.array([2, 3])).tolist()
        [2, 3]
    """
    if not (ops.is_tensor(values) or isinstance(values, np.ndarray)):
        return None
    try:
        return ops.convert_to_numpy(values)
    except (NotImplementedError, TypeError):  # Of a graph, a tracer, or of torch.s meta device.
        return None
