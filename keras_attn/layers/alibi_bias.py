"""Attention with linear biases."""

import keras
from keras import ops

from keras_attn.layers.relative_positions import RelativePositions
from keras_attn.ops.check_choice import check_sizes
from keras_attn.ops.relative_bias import alibi_bias


@keras.saving.register_keras_serializable(package="keras_attn")
class AlibiBias(RelativePositions):
    """ALiBi: a penalty of scores that grows with the distance, with a fixed slope for each head.

        bias_h(t, s) = −m_h |t − s|,  m_h = 2^(−8h / H) for h = 1 … H

    `MultiHeadAttention(positions=AlibiBias(num_heads))` adds it to its scores.

    Args:
        num_heads: int > 0. H.

    Call arguments:
        query_positions: int (T,) or (B, T).
        key_positions: int (S,) or (B, S).

    Returns:
        (H, T, S) or (B, H, T, S), compute dtype; attention adds it in float32.

    Raises:
        ValueError: num_heads < 1.

    Example:
        >>> tuple(AlibiBias(2)(ops.arange(3), ops.arange(5)).shape)
        (2, 3, 5)

    Source: Press et al. 2022, arXiv:2108.12409, 3. Differs: keys after the query, which the paper
    does not let it see, are penalized alike.
    """

    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads)
        self.num_heads = num_heads

    def check_heads(self, num_heads, key_dim):
        check_bias_heads(self, num_heads)

    def bias(self, query_positions, key_positions):
        return alibi_bias(query_positions, key_positions, self.num_heads)

    def call(self, query_positions, key_positions):
        return ops.cast(self.bias(query_positions, key_positions), self.compute_dtype)

    def compute_output_shape(self, query_positions_shape, key_positions_shape):
        return bias_shape(query_positions_shape, self.num_heads, key_positions_shape)


def check_bias_heads(layer, num_heads):
    """Raises ValueError unless a layer of biases has so many heads."""
    if layer.num_heads != num_heads:
        raise ValueError(
            f"Expected {type(layer).__name__} of num_heads={num_heads}, as the attention has. "
            f"Received: num_heads={layer.num_heads}"
        )


def bias_shape(query_shape, num_heads, key_shape):
    """(H, T, S) or (B, H, T, S) of positions (T,) or (B, T) and (S,) or (B, S)."""
    *leading, queries = max(query_shape, (*key_shape[:-1], query_shape[-1]), key=len)
    return (*leading, num_heads, queries, key_shape[-1])
