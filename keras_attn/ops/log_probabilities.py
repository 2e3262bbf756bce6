"""Log-probabilities of a vocabulary's tokens."""

from keras import ops

from keras_attn.ops.greatest import greatest


def log_probabilities(logits):
    """log softmax over the last axis, in float32.

    Like `keras.ops.log_softmax`, but several times as fast as its TensorFlow CPU kernel.

    Args:
        logits: float (..., V).

    Returns:
        float32 (..., V).

    Example:
        >>> result = log_probabilities(ops.array([[0.0, 0.0]]))
        >>> [round(float(value), 4) for value in result[0]]
        [-0.6931, -0.6931]
    """
    logits = ops.cast(logits, "float32")
    below = logits - greatest(logits, float("-inf"), keepdims=True)
    return below - ops.log(ops.sum(ops.exp(below), axis=-1, keepdims=True))
