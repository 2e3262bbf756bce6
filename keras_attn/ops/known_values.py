"""Numbers that are there while Python runs."""

import numpy as np
from keras import ops


def known_values(values):
    """NumPy array of a tensor, or None inside a graph, where its numbers are not known yet.

    Example:
        >>> known_values(ops.array([2, 3])).tolist()
        [2, 3]
    """
    if not (ops.is_tensor(values) or isinstance(values, np.ndarray)):
        return None
    try:
        return np.asarray(values)
    except (NotImplementedError, TypeError):  # A tensor of a TensorFlow graph, a tracer of JAX's.
        return None
