"""Dot-product attention."""

import keras

from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.ops.scores import dot_score


@keras.saving.register_keras_serializable(package="keras_attn")
class DotAttention(GlobalAttention):
    """Dot-product attention: no weights of its own; query and keys have one width D.

        score(q, k) = q · k

    Call arguments and returns: see `AttentionLayer`.

    Example:
        >>> context = DotAttention()(ops.zeros((2, 3, 5)), ops.zeros((2, 11, 5)))
        >>> tuple(context.shape)
        (2, 3, 5)

    Source: Luong et al. 2015, arXiv:1508.04025, 3.1 ("dot").
    """

    def score(self, query, projected_keys):
        return dot_score(query, projected_keys)
