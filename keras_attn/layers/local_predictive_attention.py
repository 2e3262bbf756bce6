"""Local attention whose window is predicted."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.local_attention import LocalAttention
from keras_attn.ops.attend import attend
from keras_attn.ops.local_attention import gaussian_window, window_mask
from keras_attn.ops.masks import combine_masks


@keras.saving.register_keras_serializable(package="keras_attn")
class LocalPredictiveAttention(LocalAttention):
    """Local attention with predictive alignment ("local-p"): each query predicts where to look.

        p_t = S sigmoid(v · tanh(W q_t))
        weights_ts = softmax_s(score in [p_t − D, p_t + D]) exp(−(s − p_t)² / 2σ²),  σ = D/2

    S is the unpadded length of the memory. The weights are not normalized again, so that rows sum
    to at most 1.

    Args:
        attention: as in `LocalAttention`.
        window: int > 0. D.
        units: int > 0. Width of the net that predicts the position.
        kernel_initializer: Keras initializer of W and v.

    Call arguments and returns: see `AttentionLayer`.

    Raises:
        ValueError: as in `LocalAttention`, or units < 1.

    Example:
        >>> from keras_attn.layers import DotAttention
        >>> layer = LocalPredictiveAttention(DotAttention(), window=2, units=3)
        >>> query, value = ops.zeros((1, 1, 5)), ops.zeros((1, 9, 5))
        >>> context, weights = layer(query, value, return_attention_scores=True)
        >>> [round(float(weight), 2) for weight in weights[0, 0, 2:8]]
        [0.0, 0.08, 0.22, 0.22, 0.08, 0.0]

    Source: Luong et al. 2015, arXiv:1508.04025, 3.2, equations 9 and 10. Positions count from 0.
    """

    def __init__(self, attention, window, units, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(attention, window, **kwargs)
        check_sizes(units=units)
        self.units = units
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, query_shape, value_shape=None, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.position_kernel = self._kernel((query_shape[-1], self.units), "position_kernel")
        self.position_vector = self._kernel((self.units, 1), "position_vector")

    def centers(self, query, lengths):
        """Predicted positions p_t.

        Args:
            query: float (B, T, D).
            lengths: int32 (B, T). Unpadded lengths of the memory.

        Returns:
            float32 (B, T), between 0 and the length.
        """
        hidden = ops.tanh(ops.matmul(query, self.position_kernel))
        logit = ops.cast(ops.matmul(hidden, self.position_vector)[..., 0], "float32")
        return ops.cast(lengths, "float32") * ops.sigmoid(logit)

    def attend(self, query, projected_keys, values, mask=None, positions=None):
        lengths, _ = self.lengths_and_positions(query, projected_keys, mask, positions)
        centers, keys = self.centers(query, lengths), ops.shape(projected_keys)[1]
        inside = combine_masks(window_mask(centers, keys, self.window), mask)
        favored = gaussian_window(centers, keys, self.window)
        return attend(self.score(query, projected_keys), values, inside, favored=favored)
