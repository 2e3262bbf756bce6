"""Weights as a SavedModel stores them."""

import numpy as np

from keras_attn.serving.stored_weights import quantized


def as_stored(value, storage):
    """An array as `StoredWeights` restores it."""
    if value.ndim < 2 or value.dtype != np.float32:
        return value
    if storage == "float16":
        return value.astype("float16").astype("float32")
    whole, scale = quantized(value)
    return whole * scale
