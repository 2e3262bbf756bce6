"""Values known to Python."""

import keras
import numpy as np
from keras import ops
from keras.src.backend.common.symbolic_scope import in_symbolic_scope  # It has no public name.


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
    except (NotImplementedError, TypeError):  # Of a graph, a tracer, a meta tensor.
        return None


def sizes_are_made_up() -> bool:
    """Whether Keras infers shapes on PyTorch, with tensors whose free sizes it has made up."""
    return keras.backend.backend() == "torch" and in_symbolic_scope()


def known_size(tensor, axis):
    """The size of an axis as an int, or None where it is free.

    Example:
        >>> known_size(ops.ones((2, 3)), 1), known_size(keras.KerasTensor((2, None)), 1)
        (3, None)
    """
    size = None if sizes_are_made_up() else tensor.shape[axis]
    return size if isinstance(size, int) else None
