"""Functions of batches, applied to empty batches as well.

Backend kernel: on TensorFlow, oneDNN's convolutions return an empty batch with the shape of their
input, so a batch of unknown size may need an extra row there; elsewhere all sizes are known.
"""

import keras
from keras import ops, tree


def allow_empty_batch(function, *inputs):
    """Applies a function that fails on an empty batch: adds a row of zeros, then removes it.

    Args:
        function: of the inputs, to a structure of tensors (B, ...).
        *inputs: structures of tensors (B, ...).

    Returns:
        What the function returns.

    Example:
        >>> tuple(allow_empty_batch(lambda rows: rows / rows.shape[0], ops.ones((0, 3))).shape)
        (0, 3)
    """
    first = tree.flatten(inputs)[0]
    unknown = first.shape[0] is None and keras.backend.backend() == "tensorflow"
    if first.shape[0] != 0 and not unknown:
        return function(*inputs)
    count = ops.shape(first)[0]
    missing = ops.cast(ops.equal(count, 0), "int32")

    def with_row(array):
        row = ops.zeros((missing, *tuple(ops.shape(array))[1:]), array.dtype)
        return ops.concatenate([array, row], axis=0)

    outputs = function(*tree.map_structure(with_row, inputs))
    return tree.map_structure(lambda array: array[:count], outputs)
