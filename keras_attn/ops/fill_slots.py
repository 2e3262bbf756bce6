"""Filling in slots of a tensor of zeros.

Backend kernel: on TensorFlow `TensorScatterUpdate`, of `keras.ops.scatter_update`, copies the whole
tensor each time. `ScatterNdNonAliasingAdd` adds in place where nothing else holds the tensor, as in
a loop that carries it, and to a copy elsewhere. XLA does not know it, but needs no copy for either.
"""

import keras
from keras import ops


def fill_slots(tensor, places, rows):
    """A tensor with rows at places that held zeros.

    Args:
        tensor: float (..., d).
        places: int32 (n, rank of tensor − 1), all different.
        rows: float (n, d), dtype of the tensor.

    Returns:
        A tensor of the same shape; the old one is unchanged.

    Example:
        >>> filled = fill_slots(ops.zeros((3, 2)), ops.array([[1]]), ops.array([[5.0, 7.0]]))
        >>> filled.numpy().tolist()
        [[0.0, 0.0], [5.0, 7.0], [0.0, 0.0]]
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext

        if not GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()):
            add = tf.raw_ops.ScatterNdNonAliasingAdd
            return add(input=tensor, indices=places, updates=rows)
    return ops.scatter_update(tensor, places, rows)
