"""What the layers of the Transformer's encoder and decoder are made of."""

from typing import ClassVar

from keras_attn.checks import check_flag, check_probability
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.feed_forward import RELU, FeedForward
from keras_attn.layers.masked_layer import MaskedLayer
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.residual import LAYER, Residual


class TransformerBlock(MaskedLayer):
    """Abstract: attentions and a feed-forward net, each in a residual connection.

    Subclasses document the arguments.
    """

    custom_config = ("activation",)
    attentions: ClassVar[tuple[str, ...]]
    """Attributes that hold the attentions, in the order of the residual connections; the first is
    self-attention."""

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
        num_key_value_heads=None,
        sliding_window=None,
        soft_cap=None,
        positions=None,
        normalization=LAYER,
        gated=False,
        feed_forward_bias=True,
        parallel=False,
        query_key_normalization=None,
        use_sinks=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim
        self.intermediate_dim, self.dropout = intermediate_dim, dropout
        self.attention_dropout = attention_dropout
        check_probability("attention_dropout", attention_dropout)
        self.use_bias = check_flag("use_bias", use_bias)
        self.normalize_first, self.epsilon = normalize_first, epsilon
        self.num_key_value_heads, self.soft_cap = num_key_value_heads, soft_cap
        self.sliding_window, self.positions = sliding_window, positions
        self.normalization, self.gated = normalization, gated
        self.feed_forward_bias, self.parallel = feed_forward_bias, check_flag("parallel", parallel)
        self.query_key_normalization = query_key_normalization
        self.use_sinks = check_flag("use_sinks", use_sinks)
        check_parallel(parallel, normalize_first)
        policy = self.dtype_policy
        itself = {"sliding_window": sliding_window, "positions": positions}
        for name in self.attentions:
            attention = MultiHeadAttention(
                num_heads,
                key_dim,
                value_dim,
                dropout=attention_dropout,
                use_bias=use_bias,
                num_key_value_heads=num_key_value_heads,
                soft_cap=soft_cap,
                query_key_normalization=query_key_normalization,
                use_sinks=use_sinks,
                **(itself if name == self.attentions[0] else {}),
                name=name,
                dtype=policy,
            )
            setattr(self, name, attention)
        self.feed_forward = FeedForward(
            intermediate_dim,
            activation=activation,
            gated=gated,
            use_bias=feed_forward_bias,
            name="feed_forward",
            dtype=policy,
        )
        self.residuals = [
            Residual(
                normalize_first,
                dropout,
                epsilon,
                None if parallel and name != self.attentions[0] else normalization,
                name=f"{name}_residual",
                dtype=policy,
            )
            for name in (*self.attentions, "feed_forward")
        ]

    def attend_itself(self, weights, **options):
        """The self-attention as a sublayer, which appends its weights to a list.

        Args:
            weights: list.
            **options: of the call of `MultiHeadAttention`. Without `return_attention_scores` there
                are no weights.
        """

        def attend(inputs):
            attended, *scores = call_scored(self.attention, inputs, **options)
            weights.extend(scores)
            return attended

        return attend

    def run_sublayers(self, inputs, sublayers, training=None):
        """Inputs after each sublayer, a function of its input, in its residual connection.

        The sublayers of a parallel block read the same normalized inputs.
        """
        entered = self.residuals[0].enter(inputs) if self.parallel else None
        for residual, sublayer in zip(self.residuals, sublayers, strict=True):
            read = entered if self.parallel else residual.enter(inputs)
            inputs = residual.leave(inputs, sublayer(read), training)
        return inputs

    def get_config(self):
        activation = self.feed_forward.get_config()["activation"]
        return {**super().get_config(), "activation": activation}


def check_parallel(parallel, normalize_first):
    """Raises ValueError unless a parallel block normalizes first."""
    if parallel and not normalize_first:
        raise ValueError(
            "Expected normalize_first=True with parallel=True, whose sublayers share one "
            "normalization. Received: normalize_first=False"
        )
