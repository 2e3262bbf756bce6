"""Multi-head self-attention to a neighborhood."""

import keras

from keras_attn.layers.multi_head import MultiHead
from keras_attn.ops.masks import combine_masks
from keras_attn.ops.restricted_attention import restricted_attention


@keras.saving.register_keras_serializable(package="keras_attn")
class RestrictedSelfAttention(MultiHead):
    """Multi-head self-attention of each position to those at most `radius` away, in O(r·n·d).

    Equal to `MultiHeadAttention` under a band mask, weights of the same names included.

    Args:
        heads: int > 0. H.
        key_units: int > 0. d_k.
        radius: int ≥ 0. r; the paper's neighborhood of r positions is 2·radius + 1.
        value_units: int > 0 or None. d_v; None is key_units.
        output_units: int > 0 or None. Width O of the output; None is the input's.
        dropout: probability. On the attention weights.
        use_bias: bool. Whether queries, values and output have a bias.
        kernel_initializer: Keras initializer of each projection.

    Call arguments:
        inputs: float (B, T, D).
        keys_mask: bool (B, T); True = attend.
        mask: bool (B, T), the same. Filled in by Keras.

    Returns:
        outputs: (B, T, O), compute dtype; 0, or the output's bias, where fully masked.
        weights: float32 (B, H, T, 2·radius + 1), before dropout; the weight of position
            t + j − radius at j. Rows sum to 1, or are all 0 where fully masked.

    Raises:
        ValueError: a width < 1; radius < 0; dropout outside [0, 1).

    Example:
        >>> from keras import ops
        >>> outputs, weights = RestrictedSelfAttention(2, 3, radius=1)(ops.ones((2, 11, 5)))
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 11, 5), (2, 2, 11, 3))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 4 ("restricted self-attention").
    """

    def __init__(
        self,
        heads,
        key_units,
        radius,
        value_units=None,
        output_units=None,
        dropout=0.0,
        use_bias=False,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(
            heads,
            key_units,
            value_units,
            output_units,
            dropout,
            use_bias,
            kernel_initializer,
            **kwargs,
        )
        if not isinstance(radius, int) or isinstance(radius, bool) or radius < 0:
            raise ValueError(f"Expected an int radius >= 0. Received: radius={radius!r}")
        self.radius = radius

    def build(self, inputs_shape):
        self.make_kernels(inputs_shape[-1], inputs_shape[-1])

    def call(self, inputs, keys_mask=None, mask=None, training=None):
        kernels = self.kernels()
        query, projected = self.project_self(inputs, kernels)
        context, weights = restricted_attention(
            query,
            *projected,
            self.radius,
            combine_masks(keys_mask, mask),
            self.drop(training),
        )
        return self.merge(context, kernels), weights

    def get_config(self):
        return {**super().get_config(), "radius": self.radius}
