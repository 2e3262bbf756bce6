"""One layer of the Transformer's encoder."""

import keras

from keras_attn.layers.feed_forward import RELU, FeedForward
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.residual import Residual
from keras_attn.ops.check_choice import check_flag, check_probability
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerEncoderBlock(MaskedLayer):
    """Multi-head self-attention, then a feed-forward net, each in a residual connection.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k.
        value_dim: int > 0 or None. d_v; None is key_dim.
        intermediate_dim: int > 0. Width of the feed-forward net's hidden layer, d_ff.
        dropout: probability. On the outputs of both sublayers.
        attention_dropout: probability. On the attention weights.
        normalize_first: bool. x + f(LN(x)) instead of LN(x + f(x)), which is the paper's.
        use_bias: bool. Whether the attention's projections have a bias; by default not, as in the
            paper.
        epsilon: float > 0. Of the layer normalization (1e-6 as in the authors' program).
        activation: as in `FeedForward`.

    Call arguments:
        inputs: float (B, S, D).
        mask: bool (B, S); True = attend. Filled in by Keras.
        attention_mask: bool, broadcastable to (B, S, S). All masks must allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Position t sees positions 0 to t only.
        attention_bias: as in `MultiHeadAttention`.

    Returns:
        outputs: (B, S, D), compute dtype, with the inputs' mask.
        weights: with return_attention_scores, float32 (B, H, S, S).

    Raises:
        ValueError: a width < 1; a probability outside [0, 1); an unknown activation; a list of
            tensors; a mask of floats or of another shape.

    Example:
        >>> from keras import ops
        >>> block = TransformerEncoderBlock(2, 3, 3, 13)
        >>> tuple(block(ops.ones((2, 11, 5))).shape)
        (2, 11, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        value_dim=None,
        intermediate_dim=None,
        dropout=0.1,
        attention_dropout=0.0,
        normalize_first=False,
        use_bias=False,
        epsilon=1e-6,
        activation=RELU,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim
        self.intermediate_dim, self.dropout = intermediate_dim, dropout
        self.attention_dropout = attention_dropout
        check_probability("attention_dropout", attention_dropout)
        self.use_bias = check_flag("use_bias", use_bias)
        self.normalize_first, self.epsilon = normalize_first, epsilon
        policy = self.dtype_policy
        self.attention = MultiHeadAttention(
            num_heads,
            key_dim,
            value_dim,
            dropout=attention_dropout,
            use_bias=use_bias,
            name="attention",
            dtype=policy,
        )
        self.feed_forward = FeedForward(
            intermediate_dim, activation=activation, name="feed_forward", dtype=policy
        )
        self.residuals = [
            Residual(normalize_first, dropout, epsilon, name=f"{name}_residual", dtype=policy)
            for name in ("attention", "feed_forward")
        ]

    def build(self, inputs_shape):
        for layer in (self.attention, self.feed_forward, *self.residuals):
            layer.build(inputs_shape)

    def call(
        self,
        inputs,
        mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
        attention_bias=None,
    ):
        mask = sequence_mask(inputs, mask=mask)
        inputs = zero_masked(inputs, mask)
        attending, feeding = self.residuals
        attended, weights = self.attention(
            attending.enter(inputs),
            mask=mask,
            attention_mask=attention_mask,
            return_attention_scores=True,
            training=training,
            use_causal_mask=use_causal_mask,
            attention_bias=attention_bias,
        )
        inputs = attending.leave(inputs, attended, training)
        fed = self.feed_forward(feeding.enter(inputs), training=training)
        outputs = carry_mask(feeding.leave(inputs, fed, training), mask)
        return (outputs, weights) if return_attention_scores else outputs

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        config = {
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "normalize_first": self.normalize_first,
            "use_bias": self.use_bias,
            "epsilon": self.epsilon,
            "activation": self.feed_forward.get_config()["activation"],
        }
        return {**super().get_config(), **config}
