"""Gathering with separate indices for each row.

Backend kernel: `keras.ops.take_along_axis` adds 24 ops to a TensorFlow graph with a free batch
size, many times per decoding step; `tf.gather` is one op.
"""

import keras
from keras import ops


def take_by_row(values, places):
    """values[b, places[b, i]] for every row b.

    Args:
        values: tensor (B, M, ...).
        places: int32 (B, n), 0 to M − 1.

    Returns:
        (B, n, ...).

    Example:
        >>> result = take_by_row(ops.array([[2, 3, 5], [7, 11, 13]]), ops.array([[2], [0]]))
        >>> ops.convert_to_numpy(result).tolist()
        [[5], [7]]
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(values, places, batch_dims=1)
    trailing = len(values.shape) - 2
    places = ops.reshape(places, (*ops.shape(places), *[1] * trailing))
    return ops.take_along_axis(values, places, axis=1)
