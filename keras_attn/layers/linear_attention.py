"""Linear attention."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.attention_layer import call_masks
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.layers.multi_head import MultiHead
from keras_attn.ops.grouped_product import grouped_product
from keras_attn.ops.linear import split_heads
from keras_attn.ops.linear_attention import (
    CHUNK,
    LinearSums,
    causal_linear_attention,
    linear_attention,
    linear_attention_weights,
)
from keras_attn.ops.masks import combine_masks, zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class LinearAttention(MultiHead):
    """Multi-head attention without a softmax, in time and memory linear in the length.

        context_t = φ(q_t)ᵀ Σ_s φ(k_s) v_sᵀ / (φ(q_t)ᵀ Σ_s φ(k_s)),  φ(x) = elu(x) + 1

    Without a value it is self-attention. Weights have the names and shapes of
    `MultiHeadAttention`'s. Step by step it is a recurrent network: `extend` a state of
    `empty_state`, whose size does not grow with the number of steps.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k.
        value_dim: int > 0 or None. d_v; None is key_dim.
        chunk_size: int > 0. Steps of a chunk of causal attention, which have scores among
            themselves and see earlier chunks as a sum. It affects speed and memory only.
        use_bias: bool. Whether all projections have a bias.
        output_shape: int > 0, a tuple of one, or None. Width O of the output; None is the query's.
        kernel_initializer, bias_initializer, num_key_value_heads: as in `MultiHeadAttention`.

    Call arguments:
        query: float (B, T, D).
        value: float (B, S, F), or None for self-attention.
        key: float (B, S, E). Default: value.
        query_mask, value_mask, key_mask: bool (B, T), (B, S), (B, S); True = attend. Filled in by
            Keras.
        mask: bool (B, T), the same as query_mask; in self-attention it masks the keys too, and is
            filled in by Keras.
        attention_mask: bool, broadcastable to (B, T, S) or, with four axes, to (B, H, T, S). With
            it, the weights are computed, in O(n²).
        return_attention_scores: bool. Computes the implied weights as well, in O(n²).
        use_causal_mask: bool. Query t sees keys 0 to t only.

    Returns:
        outputs: (B, T, O), compute dtype, with the query's mask; 0, or the output's bias, where
            fully masked.
        weights: with return_attention_scores, float32 (B, H, T, S); rows sum to 1, or are all 0
            where fully masked.

    Raises:
        ValueError: a size < 1; a dropout, for there are no weights to drop;
            num_key_value_heads that does not divide num_heads; a list of tensors; a key without a
            value; a mask of floats or of another shape.

    Example:
        >>> layer = LinearAttention(num_heads=2, key_dim=3)
        >>> tuple(layer(ops.ones((2, 11, 5)), use_causal_mask=True).shape)
        (2, 11, 5)

    Source: Katharopoulos et al. 2020, arXiv:2006.16236, 3. Differs: biases by default; nothing is
    added to the denominator, and fully masked rows are 0.
    """

    def __init__(self, num_heads, key_dim, value_dim=None, *, chunk_size=CHUNK, **kwargs):
        super().__init__(num_heads, key_dim, value_dim, **kwargs)
        check_sizes(chunk_size=chunk_size)
        self.chunk_size = chunk_size
        if self.dropout:
            raise ValueError(
                "Expected dropout=0 for LinearAttention, which computes no weights to drop. "
                f"Received: dropout={self.dropout}"
            )

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        self.make_kernels(query_shape[-1], value_shape[-1], (key_shape or value_shape)[-1])

    def call(
        self,
        query,
        value=None,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        by_pair = return_attention_scores or attention_mask is not None
        given = query_mask, value_mask, key_mask, mask, attention_mask, by_pair and use_causal_mask
        masks = call_masks(query, value, key, *given, heads=self.num_heads)
        if use_causal_mask and value is not None:  # No query sees the keys after the last one's.
            seen = ops.arange(ops.shape(value)[1])[None] < ops.shape(query)[1]
            masks = masks._replace(memory=combine_masks(masks.memory, seen))
        query, value, key = masks.apply(query, value, key)
        kernels = self.kernels()
        if value is query and key is query and kernels.joined is not None:
            heads, projected = self.project_self(query, kernels)
        else:
            heads, projected = self.project_query(query, kernels), self.project(value, key, kernels)
        weights = None
        if by_pair:
            weights = linear_attention_weights(heads, projected.keys, masks.by_head())
        if attention_mask is None:
            context = self._attend(heads, projected, masks.memory, use_causal_mask)
        else:
            values = projected.values
            context = grouped_product(ops.cast(weights, values.dtype), values, values.dtype)
        outputs = carry_mask(self.merge(context, kernels), masks.query)
        return (outputs, weights) if return_attention_scores else outputs

    def _attend(self, query, projected, key_mask, causal):
        if not causal:
            return linear_attention(query, *projected, key_mask)
        length = ops.shape(query)[2]
        keys, values = (part[:, :, :length] for part in projected)
        seen = None if key_mask is None else key_mask[:, :length]
        state = self.empty_state(ops.shape(query)[0])
        return causal_linear_attention(query, keys, values, state, seen, self.chunk_size)[0]

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], self.output_dim or query_shape[-1])

    def extend(self, inputs, state, steps=1, real=None, kernels=None):
        """Causal self-attention of the next P steps, which join the state.

        A hypothesis that goes on from another one takes its state: `ops.gather_hypotheses`.

        Args:
            inputs: float (N·P, D).
            state: `LinearSums` of N hypotheses.
            steps: int. P.
            real: bool (N, P), steps that join the state, the first ones of a row; None is all.
            kernels: what `kernels()` returned, or None to compute them now.

        Returns:
            outputs: (N·P, O).
            state: `LinearSums`, a new one.
        """
        kernels = kernels or self.kernels()
        inputs = zero_masked(inputs, None if real is None else ops.reshape(real, (-1,)))
        heads = self.num_heads, self.groups, self.groups
        rows = zip(self.project_rows(inputs, kernels), heads)
        parts = (split_heads(part, number, steps) for part, number in rows)
        context, state = causal_linear_attention(*parts, state, real, self.chunk_size)
        return self.merge_rows(context, kernels), state

    def empty_state(self, rows):
        """`LinearSums` of `rows` hypotheses before their first step: zeros."""
        shape = rows, self.groups, self.key_dim
        width = self.value_dim or self.key_dim
        return LinearSums(ops.zeros((*shape, width), "float32"), ops.zeros(shape, "float32"))
