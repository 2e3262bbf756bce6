"""Buffers for the outputs of a loop, one value per step.

Backend kernel: outside XLA a scatter on TensorFlow copies the whole buffer at every step, so there
this file writes TensorArrays; elsewhere it is `keras.ops.scatter_update`.
"""

import keras
from keras import ops


def begin_buffer(value, length):
    """A buffer of `length` values like `value`, which is its first; the others are zeros.

    Args:
        value: tensor.
        length: int ≥ 1. T.

    Returns:
        What `write_step` and `stack_steps` take; it may be carried through a loop.

    Example:
        >>> buffer = write_step(begin_buffer(ops.array([2, 3]), 3), ops.array(1), ops.array([5, 7]))
        >>> stack_steps(buffer).numpy().tolist()
        [[2, 3], [5, 7], [0, 0]]
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        buffer = tf.TensorArray(value.dtype, length, element_shape=value.shape)
        return buffer.write(0, value)
    rest = ops.zeros((length - 1, *ops.shape(value)), value.dtype)
    return ops.concatenate([value[None], rest], axis=0)


def write_step(buffer, time, value):
    """The buffer with step `time`, int32 scalar, filled in; the old one is used up."""
    if keras.backend.backend() == "tensorflow":
        return buffer.write(time, value)
    return ops.scatter_update(buffer, ops.reshape(time, (1, 1)), value[None])


def stack_steps(buffer):
    """The values of all steps, (T, ...)."""
    return buffer.stack() if keras.backend.backend() == "tensorflow" else buffer
