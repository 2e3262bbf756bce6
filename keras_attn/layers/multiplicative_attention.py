"""Multiplicative (bilinear) attention."""

import keras

from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.ops.scores import multiplicative_score


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiplicativeAttention(GlobalAttention):
    """Multiplicative attention: a bilinear form of query and key, whose widths may differ.

        score(q, k) = qᵀ W k

    Args:
        kernel_initializer: Keras initializer of W.

    Call arguments and returns: see `AttentionLayer`.

    Example:
        >>> layer = MultiplicativeAttention()
        >>> context, weights = layer(
        ...     ops.zeros((2, 7)), ops.zeros((2, 11, 5)), return_attention_scores=True
        ... )
        >>> tuple(context.shape), tuple(weights.shape)
        ((2, 5), (2, 11))

    Source: Luong et al. 2015, arXiv:1508.04025, 3.1 ("general").
    """

    def __init__(self, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, query_shape, value_shape=None, key_shape=None):
        key_shape = key_shape or value_shape or query_shape
        self.kernel = self.add_weight(
            shape=(query_shape[-1], key_shape[-1]),
            initializer=self.kernel_initializer,
            name="kernel",
        )

    def score(self, query, projected_keys):
        return multiplicative_score(query, projected_keys, self.kernel)
