"""Attention with linear biases."""

import keras
from keras import ops

from keras_attn.layers.relative_positions import PositionBias
from keras_attn.ops.relative_bias import alibi_bias


@keras.saving.register_keras_serializable(package="keras_attn")
class AlibiBias(PositionBias):
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

    def bias(self, query_positions, key_positions):
        return alibi_bias(query_positions, key_positions, self.num_heads)

    def call(self, query_positions, key_positions):
        return ops.cast(self.bias(query_positions, key_positions), self.compute_dtype)
