"""Additive attention."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.ops.scores import additive_score


@keras.saving.register_keras_serializable(package="keras_attn")
class AdditiveAttention(GlobalAttention):
    """Additive attention: weights from a one-hidden-layer net on query and key.

        score(q, k) = v · tanh(W q + U k)

    Args:
        units: int > 0. Width A of the hidden score layer.
        kernel_initializer: Keras initializer of W, U and v.

    Call arguments and returns: see `AttentionLayer`.

    Raises:
        ValueError: units < 1 ("Expected units >= 1. Received: units=0").

    Example:
        >>> context = AdditiveAttention(7)(ops.zeros((2, 3, 5)), ops.zeros((2, 11, 5)))
        >>> tuple(context.shape)
        (2, 3, 5)

    Source: Bahdanau et al. 2015, arXiv:1409.0473, A.1.2. Differs: no bias on W and U.
    """

    def __init__(self, units, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.units = units
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, query_shape, value_shape=None, key_shape=None):
        key_shape = key_shape or value_shape or query_shape
        self.query_kernel = self._kernel((query_shape[-1], self.units), "query_kernel")
        self.key_kernel = self._kernel((key_shape[-1], self.units), "key_kernel")
        self.vector = self._kernel((self.units, 1), "vector")

    def score(self, query, projected_keys):
        projected_query = ops.matmul(query, self.query_kernel)
        return additive_score(projected_query, projected_keys, self.vector[:, 0])
