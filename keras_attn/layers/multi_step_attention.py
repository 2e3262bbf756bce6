"""The attention in each layer of a convolutional decoder."""

from typing import Any, NamedTuple

import keras

from keras_attn.layers.attention_layer import call_masks
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask
from keras_attn.layers.weight_normalized_dense import WeightNormalizedDense
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.multi_step_attention import multi_step_attention
from keras_attn.ops.scaled_sum import scaled_sum


class MultiStepKernels(NamedTuple):
    """The weights of a `MultiStepAttention`: `NormalizedKernels` of its two projections."""

    query: Any
    output: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiStepAttention(MaskedLayer):
    """Attention of one layer of a convolutional decoder, with its residual.

        d_t = √½ (W h_t + b + g_t),  a_t = softmax_s(d_t · z_s),  c_t = m √(1/m) Σ_s a_ts v_s
        y_t = √½ (h_t + U c_t + b′)

    m is how many keys the query may attend to; W and U are weight-normalized.

    Call arguments:
        query: float (B, T, C). h, the hidden states of the layer.
        value: float (B, S, F), or None for self-attention. v; in the paper encoder outputs plus
            embeddings.
        key: float (B, S, E). z; default: value.
        embedded: float (B, T, E). g, the embedded target tokens; None for d_t = W h_t + b.
        query_mask, value_mask, key_mask: bool (B, T), (B, S), (B, S); True = attend. Filled in by
            Keras.
        mask: bool (B, T), the same as query_mask.
        attention_mask: bool, broadcastable to (B, T, S). All masks must allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Query t sees keys 0 to t only.

    Returns:
        outputs: (B, T, C), compute dtype, with the query's mask.
        weights: with return_attention_scores, float32 (B, T, S); rows sum to 1, or are all 0 where
            fully masked.

    Raises:
        ValueError: embedded and key of different widths; a list of tensors; a mask of floats or
            of another shape.

    Example:
        >>> layer, query = MultiStepAttention(), ops.ones((2, 3, 5))
        >>> tuple(layer(query, ops.ones((2, 11, 7)), embedded=ops.ones((2, 3, 7))).shape)
        (2, 3, 5)

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.3 to 3.5.
    """

    ranks = {**MaskedLayer.ranks, "embedded": (3,)}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.query_projection = self.output_projection = None

    def build(self, query_shape, value_shape=None, key_shape=None, embedded_shape=None):
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        if embedded_shape is not None and embedded_shape[-1] != key_shape[-1]:
            raise ValueError(
                f"Expected embedded of the key's width {key_shape[-1]}. "
                f"Received: shape={tuple(embedded_shape)}"
            )
        self.query_projection, self.output_projection = (
            WeightNormalizedDense(units, name=name, dtype=self.dtype_policy)
            for units, name in (
                (key_shape[-1], "query_projection"),
                (query_shape[-1], "output_projection"),
            )
        )
        self.query_projection.build(query_shape)
        self.output_projection.build(value_shape)

    def kernels(self):
        """`MultiStepKernels`; made once per decoding loop."""
        return MultiStepKernels(self.query_projection.kernels(), self.output_projection.kernels())

    def attend(self, query, embedded, keys, values, mask, kernels):
        """Outputs and weights, with one mask and precomputed kernels.

        Args:
            query: float (B, T, C).
            embedded: float (B, T, E), or None.
            keys: float (B, S, E).
            values: float (B, S, F).
            mask: bool, broadcastable to (B, T, S), or None.
            kernels: what `kernels` returned.

        Returns:
            outputs: (B, T, C).
            weights: float32 (B, T, S).
        """
        asking = self.query_projection.apply(query, kernels.query)
        if embedded is not None:
            asking = scaled_sum(asking, embedded)
        context, weights = multi_step_attention(asking, keys, values, mask)
        return scaled_sum(query, self.output_projection.apply(context, kernels.output)), weights

    def call(
        self,
        query,
        value=None,
        key=None,
        embedded=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        given = query_mask, value_mask, key_mask, mask, attention_mask, use_causal_mask
        masks = call_masks(query, value, key, *given)
        query, value, key = masks.apply(query, value, key)
        embedded = None if embedded is None else zero_masked(embedded, masks.query)
        outputs, weights = self.attend(query, embedded, key, value, masks.by_pair(), self.kernels())
        outputs = carry_mask(outputs, masks.query)
        return (outputs, weights) if return_attention_scores else outputs

    def compute_output_shape(
        self, query_shape, value_shape=None, key_shape=None, embedded_shape=None
    ):
        return query_shape
