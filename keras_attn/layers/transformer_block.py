"""What the layers of the Transformer's encoder and decoder are made of."""

from typing import ClassVar

from keras_attn.layers.feed_forward import RELU, FeedForward
from keras_attn.layers.masked_layer import MaskedLayer
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.residual import Residual
from keras_attn.ops.check_choice import check_flag, check_probability


class TransformerBlock(MaskedLayer):
    """Abstract: attentions and a feed-forward net, each in a residual connection.

    Subclasses document the arguments.
    """

    custom_config = ("activation",)
    attentions: ClassVar[tuple[str, ...]]
    """Attributes that hold the attentions, in the order of the residual connections."""

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
        for name in self.attentions:
            attention = MultiHeadAttention(
                num_heads,
                key_dim,
                value_dim,
                dropout=attention_dropout,
                use_bias=use_bias,
                name=name,
                dtype=policy,
            )
            setattr(self, name, attention)
        self.feed_forward = FeedForward(
            intermediate_dim, activation=activation, name="feed_forward", dtype=policy
        )
        self.residuals = [
            Residual(normalize_first, dropout, epsilon, name=f"{name}_residual", dtype=policy)
            for name in (*self.attentions, "feed_forward")
        ]

    def get_config(self):
        activation = self.feed_forward.get_config()["activation"]
        return {**super().get_config(), "activation": activation}
