"""One layer of the Transformer's encoder."""

import keras

from keras_attn.layers.masked_layer import carry_mask, sequence_mask
from keras_attn.layers.transformer_block import TransformerBlock
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerEncoderBlock(TransformerBlock):
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
        num_key_value_heads, soft_cap: as in `MultiHeadAttention`.
        sliding_window, positions: as in `MultiHeadAttention`.
        normalization: "layer" or "rms", the root mean square without mean and offset.
        gated, feed_forward_bias: as `gated` and `use_bias` of `FeedForward`.
        parallel: bool. x + Σ f(LN(x)) over the sublayers, with one normalization; requires
            normalize_first.
        query_key_normalization, use_sinks: as in `MultiHeadAttention`.

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
        ValueError: a width < 1; a probability outside [0, 1); an unknown activation or
            normalization; parallel without normalize_first; a list of tensors; a mask of floats or
            of another shape; what `MultiHeadAttention` refuses.

    Example:
        >>> from keras import ops
        >>> block = TransformerEncoderBlock(2, 3, 3, 13)
        >>> tuple(block(ops.ones((2, 11, 5))).shape)
        (2, 11, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1; parallel Wang and Komatsuzaki 2021 (GPT-J)
    and Chowdhery et al. 2022, arXiv:2204.02311, 2.
    """

    attentions = ("attention",)

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
        weights = []
        attend = self.attend_itself(
            weights,
            mask=mask,
            attention_mask=attention_mask,
            return_attention_scores=return_attention_scores,
            training=training,
            use_causal_mask=use_causal_mask,
            attention_bias=attention_bias,
        )

        def feed(inputs):
            return self.feed_forward(inputs, training=training)

        outputs = carry_mask(self.run_sublayers(inputs, (attend, feed), training), mask)
        return (outputs, *weights) if return_attention_scores else outputs

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
