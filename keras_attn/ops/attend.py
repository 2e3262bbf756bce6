"""The one softmax of attention, and the weighted sum."""

import keras
from keras import ops

from keras_attn.ops.greatest import greatest
from keras_attn.ops.grouped_product import grouped_product
from keras_attn.ops.masks import as_mask

LEAST_SCORE = -1e30
LEAST_TOTAL = 0.5


def attention_weights(scores, mask=None, axes=(-1,), sinks=None):
    """Softmax over the keys, in float32, with masked keys at exactly 0.

    Args:
        scores: float (..., S).
        mask: bool, broadcastable to `scores`; True = attend.
        axes: tuple of int. The axes of the keys, where they lie on several.
        sinks: float32, broadcastable to `scores` with 1 for the keys. Scores that take a part of
            each row's weight and give it to no key; None for none.

    Returns:
        float32 (..., S); rows sum to 1, with sinks to less, or are all 0 where fully masked
        (gradients stay finite).

    Raises:
        ValueError: a mask of floats.

    Example:
        >>> scores = ops.zeros((1, 4))
        >>> ops.convert_to_numpy(attention_weights(scores, [[True, True, False, False]])).tolist()
        [[0.5, 0.5, 0.0, 0.0]]
    """
    scores = ops.cast(scores, "float32")
    is_plain = mask is None and axes == (-1,) and sinks is None
    if is_plain and scores.shape[-1] != 1:  # Keras warns about these.
        return ops.softmax(scores)  # Twice as fast.
    if mask is not None:
        scores = ops.where(as_mask(mask), scores, float("-inf"))
    largest = ops.stop_gradient(scores)
    for axis in axes:
        largest = greatest(largest, LEAST_SCORE, axis, keepdims=True)
    if sinks is not None:
        largest = ops.maximum(largest, ops.stop_gradient(sinks))
    total = exponentials = ops.exp(scores - largest)
    for axis in axes:
        total = ops.sum(total, axis=axis, keepdims=True)
    if sinks is not None:
        total = total + ops.exp(sinks - largest)
    # At least 1, for the largest adds exp(0), or 0 where fully masked.
    return exponentials / ops.maximum(total, LEAST_TOTAL)


def attend(scores, values, mask=None, dropout=None, favored=None, sinks=None):
    """Turns scores into weights and takes the weighted sum of the values.

        context_t = Σ_s softmax(score_t)_s · value_s

    Args:
        scores: float (..., T, S).
        values: float (..., S, D), finite also where masked; see `zero_masked`. By head, (B, G, S,
            D), they may have fewer heads than the scores; see `grouped_product`.
        mask: bool, broadcastable to (..., T, S); True = attend.
        dropout: function of the weights that the sum is taken with, or None.
        favored: float32, broadcastable to (..., T, S). Factors of the weights after the softmax, or
            None.
        sinks: float32, broadcastable to (..., T, 1), see `attention_weights`; or None.

    Returns:
        context: (..., T, D), dtype of `values`.
        weights: float32 (..., T, S) before dropout, see `attention_weights`, times `favored`.
    """
    weights = attention_weights(scores, mask, sinks=sinks)
    weights = weights if favored is None else weights * favored
    used = weights if dropout is None else dropout(weights)
    values = ops.convert_to_tensor(values)
    dtype = keras.backend.standardize_dtype(values.dtype)
    return grouped_product(ops.cast(used, dtype), values, dtype), weights
