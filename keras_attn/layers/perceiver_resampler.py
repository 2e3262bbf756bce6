"""The Perceiver resampler."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.feed_forward import GELU
from keras_attn.layers.masked_layer import MaskedLayer, sequence_mask
from keras_attn.layers.perceiver_block import PerceiverBlock
from keras_attn.layers.residual import LAYER, make_normalization
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class PerceiverResampler(MaskedLayer):
    """A sequence of any length as N vectors: learned latents that attend to it, layer by layer.

        z ← z + MultiHead(LN(z), [LN(x); LN(z)]),  z ← z + FFN(LN(z))

    In each layer, the latents z attend to the inputs x and to themselves. The outputs are
    normalized once more. Cost is linear in the length of the inputs.

    Args:
        num_latents: int > 0. N.
        num_layers: int > 0.
        num_heads: int > 0. H.
        key_dim: int > 0. d_k, also width of a head's values.
        intermediate_dim: int > 0. Width of the feed-forward nets' hidden layers.
        dropout: probability. On the outputs of all sublayers.
        attention_dropout: probability. On the attention weights.
        use_bias: bool. Whether attentions and feed-forward nets have biases.
        epsilon: float > 0. Of the layer normalizations.
        activation: as in `FeedForward`.
        initializer: Keras initializer of the latents (N, D).

    Call arguments:
        inputs: float (B, S, D).
        mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        latents: (B, N, D), compute dtype. They have no mask; where all inputs are masked, they have
            attended to each other only.
        weights: with return_attention_scores, tuple of float32 (B, H, N, S + N), by layer, of the
            inputs followed by the latents; rows sum to 1.

    Raises:
        ValueError: a size < 1; a probability outside [0, 1); epsilon ≤ 0; an unknown activation; a
            mask of floats or of another shape.

    Example:
        >>> layer = PerceiverResampler(3, num_layers=2, num_heads=2, key_dim=5, intermediate_dim=7)
        >>> tuple(layer(ops.ones((2, 11, 5))).shape)
        (2, 3, 5)

    Source: Alayrac et al. 2022, arXiv:2204.14198, 3.1 and A.1.1; latents Jaegle et al. 2021,
    arXiv:2103.03206. Differs: no embeddings of time are added to the inputs; GELU, where the paper
    has a squared ReLU.
    """

    custom_config = ("activation",)

    def __init__(
        self,
        num_latents,
        num_layers,
        num_heads,
        key_dim,
        intermediate_dim,
        dropout=0.0,
        attention_dropout=0.0,
        use_bias=False,
        epsilon=1e-6,
        activation=GELU,
        initializer="random_normal",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_latents=num_latents, num_layers=num_layers)
        self.num_latents, self.num_layers, self.num_heads = num_latents, num_layers, num_heads
        self.key_dim, self.intermediate_dim = key_dim, intermediate_dim
        self.dropout, self.attention_dropout = dropout, attention_dropout
        self.use_bias, self.epsilon = use_bias, epsilon
        self.initializer = keras.initializers.get(initializer)
        self.blocks = [
            PerceiverBlock(
                num_heads,
                key_dim,
                intermediate_dim=intermediate_dim,
                dropout=dropout,
                attention_dropout=attention_dropout,
                normalize_first=True,
                use_bias=use_bias,
                epsilon=epsilon,
                activation=activation,
                feed_forward_bias=use_bias,
                name=f"block_{n}",
                dtype=self.dtype_policy,
            )
            for n in range(num_layers)
        ]
        self.last_norm = make_normalization(
            LAYER, epsilon, name="last_norm", dtype=self.dtype_policy
        )

    def build(self, inputs_shape):
        shape = (None, self.num_latents, inputs_shape[-1])
        self.latents = self.add_weight(
            shape=shape[1:], initializer=self.initializer.clone(), name="latents"
        )
        for layer in (*self.blocks, self.last_norm):
            layer.build(shape)

    def call(self, inputs, mask=None, return_attention_scores=False, training=None):
        mask, weights = sequence_mask(inputs, mask=mask), []
        inputs = zero_masked(inputs, mask)
        latents = ops.cast(self.latents, self.compute_dtype)
        latents = ops.broadcast_to(latents, (ops.shape(inputs)[0], *latents.shape))
        for block in self.blocks:
            latents, *attended = call_scored(
                block,
                latents,
                inputs,
                inputs_mask=mask,
                return_attention_scores=return_attention_scores,
                training=training,
            )
            weights.extend(attended)
        latents = self.last_norm(latents)
        return (latents, tuple(weights)) if return_attention_scores else latents

    def compute_mask(self, inputs, mask=None):
        """None: all latents are real."""
        return None

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], self.num_latents, inputs_shape[-1])

    def get_config(self):
        activation = self.blocks[0].get_config()["activation"]
        return {**super().get_config(), "activation": activation}
