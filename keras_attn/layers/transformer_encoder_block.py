"""One layer of the Transformer's encoder."""

import keras

from keras_attn.layers.feed_forward import RELU, FeedForward
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.residual import POST, Residual


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerEncoderBlock(keras.layers.Layer):
    """Multi-head self-attention, then a feed-forward net, each in a residual connection.

    Args:
        heads: int > 0. H.
        key_units: int > 0. d_k.
        value_units: int > 0 or None. d_v; None is key_units.
        hidden_units: int > 0. Width of the feed-forward net's hidden layer, d_ff.
        dropout: probability. On the outputs of both sublayers.
        weight_dropout: probability. On the attention weights.
        norm: "post", LN(x + f(x)) as in the paper, or "pre", x + f(LN(x)).
        use_bias: bool. Whether the attention's projections have a bias.
        epsilon: float > 0. Of the layer normalization (1e-6 as in the authors' program).
        activation: "relu", "gelu" or "gelu_tanh". Of the feed-forward net.

    Call arguments:
        inputs: float (B, S, D).
        keys_mask: bool (B, S); True = attend.
        attention_mask: bool, broadcastable to (B, S, S).
        mask: bool (B, S), the same as keys_mask. Filled in by Keras.

    Returns:
        outputs: (B, S, D), compute dtype.
        weights: float32 (B, H, S, S).

    Raises:
        ValueError: a width < 1; a probability outside [0, 1); another `norm` or activation.

    Example:
        >>> from keras import ops
        >>> block = TransformerEncoderBlock(2, 3, 3, 13)
        >>> outputs, weights = block(ops.ones((2, 11, 5)))
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 11, 5), (2, 2, 11, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1.
    """

    def __init__(
        self,
        heads,
        key_units,
        value_units,
        hidden_units,
        dropout=0.1,
        weight_dropout=0.0,
        norm=POST,
        use_bias=False,
        epsilon=1e-6,
        activation=RELU,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.heads, self.key_units, self.value_units = heads, key_units, value_units
        self.hidden_units, self.dropout, self.weight_dropout = hidden_units, dropout, weight_dropout
        self.norm, self.use_bias, self.epsilon = norm, bool(use_bias), epsilon
        self.activation = activation
        policy = self.dtype_policy
        self.attention = MultiHeadAttention(
            heads,
            key_units,
            value_units,
            dropout=weight_dropout,
            use_bias=use_bias,
            name="attention",
            dtype=policy,
        )
        self.feed_forward = FeedForward(
            hidden_units, activation=activation, name="feed_forward", dtype=policy
        )
        self.residuals = [
            Residual(norm, dropout, epsilon, name=f"{name}_residual", dtype=policy)
            for name in ("attention", "feed_forward")
        ]

    def build(self, inputs_shape):
        for layer in (self.attention, self.feed_forward, *self.residuals):
            layer.build(inputs_shape)

    def call(self, inputs, keys_mask=None, attention_mask=None, mask=None, training=None):
        attending, feeding = self.residuals
        attended, weights = self.attention(
            attending.enter(inputs),
            keys_mask=keys_mask,
            attention_mask=attention_mask,
            mask=mask,
            training=training,
        )
        inputs = attending.leave(inputs, attended, training)
        fed = self.feed_forward(feeding.enter(inputs), training=training)
        return feeding.leave(inputs, fed, training), weights

    def compute_mask(self, *args, **kwargs):
        """No mask goes on: pass masks explicitly where a later layer wants them."""
        return None

    def get_config(self):
        config = {
            "heads": self.heads,
            "key_units": self.key_units,
            "value_units": self.value_units,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "weight_dropout": self.weight_dropout,
            "norm": self.norm,
            "use_bias": self.use_bias,
            "epsilon": self.epsilon,
            "activation": self.activation,
        }
        return {**super().get_config(), **config}
