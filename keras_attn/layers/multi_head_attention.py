"""Multi-head attention."""

import keras
from keras import ops

from keras_attn.layers.multi_head import KeysAndValues, MultiHead
from keras_attn.ops.attend import attend
from keras_attn.ops.cached_attention import attend_slots, write_slots
from keras_attn.ops.linear import linear
from keras_attn.ops.masks import causal_mask, combine_masks
from keras_attn.ops.scores import scaled_dot_score


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiHeadAttention(MultiHead):
    """Multi-head attention.

        head_i = softmax(Q W_i^Q (K W_i^K)ᵀ / √d_k) K W_i^V,  outputs = [head_1; …; head_H] W^O

    Without keys it is self-attention, with one product for queries, keys and values. Decoding step
    by step: `project` a memory once and `attend` to it, or `extend` a cache of one's own steps.

    Args:
        heads: int > 0. H.
        key_units: int > 0. d_k, width of a head's queries and keys.
        value_units: int > 0 or None. d_v, width of a head's values; None is key_units.
        output_units: int > 0 or None. Width O of the output; None is the query's.
        dropout: probability. On the attention weights.
        use_bias: bool. Whether queries, values and output have a bias. Keys have none, for a
            softmax over keys does not see it.
        kernel_initializer: Keras initializer of each projection.
        causal: bool. Query t sees keys 0 to t only.

    Call arguments:
        query: float (B, T, D).
        keys: float (B, S, E), or None for self-attention.
        keys_mask: bool (B, S); True = attend. Filled in by Keras where the keys carry a mask.
        attention_mask: bool, broadcastable to (B, T, S) or, with four axes, to (B, H, T, S).
        mask: bool (B, T), in self-attention: which positions are real. Filled in by Keras.

    Returns:
        outputs: (B, T, O), compute dtype; 0, or the output's bias, where fully masked.
        weights: float32 (B, H, T, S) before dropout; rows sum to 1, or are all 0 where fully
            masked.

    Raises:
        ValueError: a width < 1; dropout outside [0, 1).

    Example:
        >>> layer = MultiHeadAttention(heads=2, key_units=3, value_units=5)
        >>> outputs, weights = layer(ops.ones((2, 3, 7)), ops.ones((2, 11, 7)))
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 3, 7), (2, 2, 3, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.2.2; without biases, as there. Differs: keys
    and values come from the same sequence, as in all that the paper does.
    """

    def __init__(
        self,
        heads,
        key_units,
        value_units=None,
        output_units=None,
        dropout=0.0,
        use_bias=False,
        kernel_initializer="glorot_uniform",
        causal=False,
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
        self.causal = bool(causal)

    def build(self, query_shape, keys_shape=None):
        self.make_kernels(query_shape[-1], (keys_shape or query_shape)[-1])

    def call(self, query, keys=None, keys_mask=None, attention_mask=None, mask=None, training=None):
        kernels = self.kernels()
        if keys is None:
            keys_mask = combine_masks(keys_mask, mask)
            query, projected = self.project_self(query, kernels)
        else:
            query, projected = self.project_query(query, kernels), self.project(keys, kernels)
        mask = self._mask(query, projected, keys_mask, attention_mask)
        context, weights = self._attend(query, projected, mask, training)
        return self.merge(context, kernels), weights

    def attend(self, query, projected, keys_mask=None, kernels=None):
        """Attends to a memory projected before.

        Args:
            query: float (B, T, D).
            projected: `KeysAndValues`, what `project(keys)` returned.
            keys_mask: bool (B, S); True = attend.
            kernels: what `kernels()` returned, or None to take them now.

        Returns:
            outputs: (B, T, O).
            weights: float32 (B, H, T, S).
        """
        kernels = kernels or self.kernels()
        mask = None if keys_mask is None else keys_mask[:, None, None, :]
        context, weights = self._attend(self.project_query(query, kernels), projected, mask)
        return self.merge(context, kernels), weights

    def attend_rows(self, inputs, projected, steps, keys_mask, kernels):
        """As `attend`, for the rows of the next P steps of K hypotheses an example.

        Args:
            inputs: float (N·P, D).
            projected: `KeysAndValues`, leading with B.
            steps: `NextSteps`.
            keys_mask: bool (B, S).
            kernels: what `kernels()` returned.

        Returns:
            outputs: (N·P, O).
            weights: float32 (B, H, K·P, S).
        """
        units = self.heads * self.key_units
        query = linear(inputs, kernels.query, kernels.query_bias, units)
        query = steps.by_example(query, self.heads)
        context, weights = self._attend(query, projected, keys_mask[:, None, None, :])
        return self.merge_rows(context, kernels), weights

    def extend(self, inputs, cache, steps, kernels=None):
        """Self-attention of the next P steps, which join the cache; see `ops.cached_attention`.

        Args:
            inputs: float (N·P, D).
            cache: `KeysAndValues` with leading axis N = B·K and L slots.
            steps: `NextSteps`.
            kernels: what `kernels()` returned, or None to take them now.

        Returns:
            outputs: (N·P, O).
            cache: `KeysAndValues`, a new one.
        """
        kernels = kernels or self.kernels()
        query, *new = self.project_rows(inputs, kernels)
        cache = KeysAndValues(*(write_slots(old, one, steps) for old, one in zip(cache, new)))
        context = attend_slots(steps.by_example(query, self.heads), *cache, steps)
        return self.merge_rows(context, kernels), cache

    def empty_cache(self, rows, length):
        """`KeysAndValues` of zeros for `rows` hypotheses and `length` slots."""
        widths = self.key_units, self.value_units or self.key_units
        shapes = ((rows, self.heads, length, width) for width in widths)
        return KeysAndValues(*(ops.zeros(shape, self.compute_dtype) for shape in shapes))

    def _attend(self, query, projected, mask, training=None):
        scores = scaled_dot_score(query, projected.keys)
        return attend(scores, projected.values, mask, self.drop(training))

    def _mask(self, query, projected, keys_mask, attention_mask):
        if keys_mask is not None:
            keys_mask = ops.expand_dims(ops.expand_dims(keys_mask, 1), 1)
        if attention_mask is not None and len(attention_mask.shape) == 3:
            attention_mask = ops.expand_dims(attention_mask, 1)
        causal = None
        if self.causal:
            causal = causal_mask(ops.shape(query)[2], ops.shape(projected.keys)[2])
        return combine_masks(keys_mask, attention_mask, causal)

    def get_config(self):
        return {**super().get_config(), "causal": self.causal}
