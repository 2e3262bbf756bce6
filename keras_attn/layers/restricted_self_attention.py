"""Multi-head self-attention within a neighborhood."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.masked_layer import carry_mask, sequence_mask
from keras_attn.layers.multi_head import MultiHead
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.restricted_attention import restricted_attention


@keras.saving.register_keras_serializable(package="keras_attn")
class RestrictedSelfAttention(MultiHead):
    """Multi-head self-attention of each position to those at most `radius` away, in O(r·n·d).

    Equal to `MultiHeadAttention` under a band mask, weights of the same names included.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k.
        radius: int ≥ 0. r; the paper's neighborhood of r positions is 2·radius + 1.
        value_dim: int > 0 or None. d_v; None is key_dim.
        dropout: probability. On the attention weights.
        use_bias: bool. Whether all projections have a bias.
        output_shape: int > 0, a tuple of one, or None. Width O of the output; None is the input's.
        kernel_initializer, bias_initializer, seed, num_key_value_heads: as in `MultiHeadAttention`.

    Call arguments:
        inputs: float (B, T, D).
        mask: bool (B, T); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        outputs: (B, T, O), compute dtype, with the inputs' mask; 0, or the output's bias, where
            fully masked.
        weights: with return_attention_scores, float32 (B, H, T, 2·radius + 1), before dropout; the
            weight of position t + j − radius at j. Rows sum to 1, or are all 0 where fully masked.

    Raises:
        ValueError: a width < 1; radius < 0; dropout outside [0, 1); a list of tensors; a mask of
            floats or of another shape.

    Example:
        >>> layer = RestrictedSelfAttention(2, 3, radius=1)
        >>> outputs, weights = layer(ops.ones((2, 11, 5)), return_attention_scores=True)
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 11, 5), (2, 2, 11, 3))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 4 ("restricted self-attention").
    """

    def __init__(self, num_heads, key_dim, radius, value_dim=None, **kwargs):
        super().__init__(num_heads, key_dim, value_dim, **kwargs)
        check_sizes(least=0, radius=radius)
        self.radius = radius

    def build(self, inputs_shape):
        self.make_kernels(*(3 * [inputs_shape[-1]]))

    def call(self, inputs, mask=None, return_attention_scores=False, training=None):
        mask, kernels = sequence_mask(inputs, mask=mask), self.kernels()
        query, projected = self.project_self(zero_masked(inputs, mask), kernels)
        shared = self.num_heads // self.groups
        memory = projected if shared == 1 else [ops.repeat(x, shared, axis=1) for x in projected]
        context, weights = restricted_attention(
            query, *memory, self.radius, mask, self.drop(training)
        )
        outputs = carry_mask(self.merge(context, kernels), mask)
        return (outputs, weights) if return_attention_scores else outputs

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.output_dim or inputs_shape[-1])
