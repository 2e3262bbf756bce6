"""Scaled dot-product attention."""

import keras

from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.ops.scores import scaled_dot_score


@keras.saving.register_keras_serializable(package="keras_attn")
class ScaledDotAttention(GlobalAttention):
    """Scaled dot-product attention: no weights of its own; query and keys have one width D.

        score(q, k) = q · k / √D

    Call arguments and returns: see `AttentionLayer`.

    Example:
        >>> context = ScaledDotAttention()(ops.zeros((2, 3, 5)), ops.zeros((2, 11, 5)))
        >>> tuple(context.shape)
        (2, 3, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.2.1.
    """

    def score(self, query, projected_keys):
        return scaled_dot_score(query, projected_keys)
