"""Local attention whose window moves with the query."""

import keras
from keras import ops

from keras_attn.layers.local_attention import LocalAttention
from keras_attn.ops.attend import attend
from keras_attn.ops.local_attention import window_mask
from keras_attn.ops.masks import combine_masks


@keras.saving.register_keras_serializable(package="keras_attn")
class LocalMonotonicAttention(LocalAttention):
    """Local attention with monotonic alignment ("local-m"): query t looks around key t.

        p_t = min(t, S − 1),  weights = softmax of the scores in [p_t − D, p_t + D]

    Args:
        attention: as in `LocalAttention`.
        window: int > 0. D.

    Call arguments and returns: see `AttentionLayer`. Queries count from 0.

    Raises:
        ValueError: as in `LocalAttention`.

    Example:
        >>> from keras_attn.layers import DotAttention
        >>> layer = LocalMonotonicAttention(DotAttention(), window=2)
        >>> context, weights = layer(
        ...     ops.ones((1, 7, 5)), ops.ones((1, 11, 5)), return_attention_scores=True
        ... )
        >>> [round(float(weight), 2) for weight in weights[0, 3, :7]]
        [0.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.0]

    Source: Luong et al. 2015, arXiv:1508.04025, 3.2. Differs: queries beyond the last key look
    around the last one, where the paper's window would be empty.
    """

    def attend(self, query, projected_keys, values, mask=None, positions=None):
        lengths, positions = self.lengths_and_positions(query, projected_keys, mask, positions)
        centers = ops.minimum(positions, ops.maximum(lengths - 1, 0))
        inside = window_mask(centers, ops.shape(projected_keys)[1], self.window)
        return attend(self.score(query, projected_keys), values, combine_masks(inside, mask))
