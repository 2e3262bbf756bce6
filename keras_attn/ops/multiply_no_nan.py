"""Products in which a factor of 0 excludes what it is multiplied with.

Backend kernel: TensorFlow has this product in one pass; elsewhere compilers fuse the selection.
"""

import keras
from keras import ops


def multiply_no_nan(inputs, factors):
    """inputs · factors, and 0 where a factor is 0, whatever stands in the inputs.

    Args:
        inputs: float (...).
        factors: float, broadcastable to the inputs and of their dtype.

    Returns:
        (...).

    Example:
        >>> product = multiply_no_nan(ops.array([2.0, float("nan")]), ops.array([3.0, 0.0]))
        >>> ops.convert_to_numpy(product).tolist()
        [6.0, 0.0]
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.math.multiply_no_nan(inputs, factors)
    return ops.where(factors == 0, 0, inputs * factors)
