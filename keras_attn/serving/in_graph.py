"""Functions of strings that call a model, as graphs where that can be."""

import keras

from keras_attn.lazy_tensorflow import tf


def in_graph(function, signature=None):
    """A service's function as a TensorFlow graph; the function itself on any other backend.

    There the model cannot be a part of a graph, and runs for itself.

    Args:
        function: of tensors to a dict of tensors, such as a service's `explain`.
        signature: list of `tf.TensorSpec`, or None.

    Returns:
        function of tensors to a dict of tensors.
    """
    if keras.backend.backend() != "tensorflow":
        return function
    return tf.function(function, input_signature=signature, autograph=False)
