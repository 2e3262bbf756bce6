"""Pooling by multi-head attention."""

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.feed_forward import GELU_TANH, FeedForward
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.residual import Residual
from keras_attn.layers.traced_spec import traced_spec


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiHeadPooling(BaseLayer):
    """A sequence as one vector: multi-head attention with a learned query, then a feed-forward net.

        a = MultiHead(q, y, y),  pooled = a + FFN(LN(a))

    Args:
        num_heads: int > 0. H; divides D.
        intermediate_dim: int > 0. Width of the feed-forward net's hidden layer.
        activation: as in `FeedForward`.
        epsilon: float > 0. Of the layer normalization.

    Call arguments:
        inputs: float (B, S, D).

    Returns:
        pooled: (B, D), compute dtype.
        weights: float32 (B, H, S), rows sum to 1.

    Example:
        >>> pooled, weights = MultiHeadPooling(2, 13)(ops.ones((3, 11, 10)))
        >>> tuple(pooled.shape), tuple(weights.shape)
        ((3, 10), (3, 2, 11))

    Source: Zhai et al. 2022, arXiv:2106.04560, 4.2, after Lee et al. 2019, arXiv:1810.00825.
    """

    def __init__(self, num_heads, intermediate_dim, activation=GELU_TANH, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.intermediate_dim = num_heads, intermediate_dim
        self.activation, self.epsilon = activation, epsilon
        policy = self.dtype_policy
        self.feed_forward = FeedForward(
            intermediate_dim, activation=activation, name="feed_forward", dtype=policy
        )
        self.residual = Residual(True, epsilon=epsilon, name="residual", dtype=policy)

    def build(self, inputs_shape):
        units = inputs_shape[-1]
        self.query = self.add_weight(shape=(1, units), initializer="random_normal", name="query")
        self.attention = MultiHeadAttention(
            self.num_heads, units // self.num_heads, name="attention", dtype=self.dtype_policy
        )
        self.attention.build((None, 1, units), (None, None, units))
        self.feed_forward.build((None, 1, units))
        self.residual.build((None, 1, units))

    def call(self, inputs):
        query = ops.cast(self.query, self.compute_dtype)
        query = ops.broadcast_to(query, (ops.shape(inputs)[0], *query.shape))
        attended, weights = self.attention(query, inputs, return_attention_scores=True)
        fed = self.feed_forward(self.residual.enter(attended))
        return self.residual.leave(attended, fed)[:, 0], weights[:, :, 0]

    def compute_output_shape(self, inputs_shape):
        batch, length, units = inputs_shape
        return (batch, units), (batch, self.num_heads, length)

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns."""
        return traced_spec(self, *args, **kwargs)
