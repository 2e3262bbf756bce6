"""Normalizations of vectors: by mean and variance, by the mean square, by the length."""

import keras
from keras import ops

from keras_attn.checks import check_choice

LAYER, RMS, L2 = "layer", "rms", "l2"
LEAST_SQUARE = 1e-6


def normalize_vectors(inputs, kind, gain=None, epsilon=LEAST_SQUARE):
    """The last axis, normalized in at least float32.

        layer: γ ⊙ (x − mean(x)) / √(var(x) + ε),  rms: γ ⊙ x / √(mean(x²) + ε),
        l2: γ ⊙ x / √max(Σ x², ε)

    Args:
        inputs: float (..., D).
        kind: "layer", "rms" or "l2".
        gain: float, broadcastable to `inputs`. γ; None is 1.
        epsilon: float > 0. ε.

    Returns:
        The inputs' shape and dtype; 0 where they are 0.

    Example:
        >>> unit = normalize_vectors(ops.array([[3.0, 4.0]]), "l2")
        >>> ops.convert_to_numpy(unit).astype(float).round(2).tolist()
        [[0.6, 0.8]]

    Raises:
        ValueError: an unknown kind.

    Source: Ba et al. 2016, arXiv:1607.06450, without an offset; "rms" Zhang and Sennrich 2019,
    arXiv:1910.07467.
    """
    check_choice("kind", kind, (LAYER, RMS, L2))
    dtype = keras.backend.standardize_dtype(inputs.dtype)
    exact = keras.backend.result_type(dtype, "float32")
    x = ops.cast(inputs, exact)
    if kind == LAYER:
        x = x - ops.mean(x, axis=-1, keepdims=True)
    square = ops.square(x)
    if kind == L2:
        least = ops.maximum(ops.sum(square, axis=-1, keepdims=True), epsilon)
    else:
        least = ops.mean(square, axis=-1, keepdims=True) + epsilon
    x = x * ops.rsqrt(least)
    x = x if gain is None else x * ops.cast(gain, exact)
    return ops.cast(x, dtype)
