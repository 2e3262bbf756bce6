"""Functions for `Dataset.map` that call Keras' operations."""

import keras
import numpy as np
import tensorflow as tf


def by_backend(function, dtype):
    """A function of tensors that calls Keras' operations, as one for `Dataset.map`.

    A data set is a TensorFlow graph; the operations of other backends cannot be a part of one, and
    run eagerly instead.

    Args:
        function: of tensors to one tensor.
        dtype: `tf.DType` of what it returns.

    Returns:
        function of tensors to a tensor, of unknown shape unless the backend is TensorFlow.
    """
    if keras.backend.backend() == "tensorflow":
        return function

    def eager(*tensors):
        return tf.constant(np.asarray(function(*tensors)), dtype)

    return lambda *tensors: tf.py_function(eager, tensors, dtype)
