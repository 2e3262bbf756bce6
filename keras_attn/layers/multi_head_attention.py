"""Multi-head attention."""

import keras
from keras import ops

from keras_attn.layers.attention_layer import call_masks
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.layers.multi_head import KeysAndValues, MultiHead
from keras_attn.ops.attend import attend
from keras_attn.ops.cached_attention import attend_slots, write_slots
from keras_attn.ops.linear import linear
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.scores import scaled_dot_score

NOT_OFFERED = {
    "attention_axes": (None, (1,), [1]),
    "use_gate": (False, None),
    **dict.fromkeys(("sliding_window", "flash_attention"), (None, False)),
    **dict.fromkeys(
        (
            "kernel_regularizer",
            "bias_regularizer",
            "activity_regularizer",
            "kernel_constraint",
            "bias_constraint",
        ),
        (None,),
    ),
}
"""Unsupported arguments of Keras' layer, with their neutral values."""


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiHeadAttention(MultiHead):
    """Multi-head attention, a drop-in replacement for `keras.layers.MultiHeadAttention`.

        head_i = softmax(Q W_i^Q (K W_i^K)ᵀ / √d_k) V W_i^V,  outputs = [head_1; …; head_H] W^O

    Without a value it is self-attention, with one product for queries, keys and values. It takes
    the weights of Keras' layer (`set_weights`). For step-by-step decoding, `project` a memory once
    and `attend` to it, or `extend` a cache of the layer's own steps.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k, width of a head's queries and keys.
        value_dim: int > 0 or None. d_v, width of a head's values; None is key_dim.
        dropout: probability. On the attention weights.
        use_bias: bool. Whether all projections have a bias; the paper's have none.
        output_shape: int > 0, a tuple of one, or None. Width O of the output; None is the query's.
        kernel_initializer: Keras initializer of each projection's matrix, such as (D, H·d_k).
        bias_initializer: Keras initializer of the biases.
        seed: int or None. Of the dropout.

    Call arguments:
        query: float (B, T, D).
        value: float (B, S, F), or None for self-attention.
        key: float (B, S, E). Default: value.
        query_mask, value_mask, key_mask: bool (B, T), (B, S), (B, S); True = attend. Filled in by
            Keras.
        mask: bool (B, T), the same as query_mask; in self-attention it masks the keys too, and is
            filled in by Keras.
        attention_mask: bool, broadcastable to (B, T, S) or, with four axes, to (B, H, T, S). All
            masks must allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Query t sees keys 0 to t only.
        attention_bias: float, broadcastable to (B, H, T, S), added to the scores; None for none.

    Returns:
        outputs: (B, T, O), compute dtype, with the query's mask; 0, or the output's bias, where
            fully masked.
        weights: with return_attention_scores, float32 (B, H, T, S) before dropout; rows sum to 1,
            or are all 0 where fully masked.

    Raises:
        ValueError: a width < 1; dropout outside [0, 1); a list of tensors; a key without a value;
            a mask of floats or of another shape.

    Example:
        >>> layer = MultiHeadAttention(num_heads=2, key_dim=3, value_dim=5)
        >>> outputs, weights = layer(
        ...     ops.ones((2, 3, 7)), ops.ones((2, 11, 7)), return_attention_scores=True
        ... )
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 3, 7), (2, 2, 3, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.2.2. Differs: biases by default. Differs from
    Keras' layer: fully masked rows are 0; padded queries are read as 0, and their outputs are not
    zeroed; kernels are initialized like matrices (D, H·d_k), so their standard deviation does not
    shrink with H.
    """

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config`; also takes the config of Keras' layer."""
        absent = {key: value for key, value in config.items() if key in NOT_OFFERED}
        if chosen := [key for key, value in absent.items() if value not in NOT_OFFERED[key]]:
            raise ValueError(
                f"Expected a config without {', '.join(chosen)}, which MultiHeadAttention does "
                f"not support. Received: {', '.join(f'{key}={absent[key]!r}' for key in chosen)}"
            )
        return cls(**{key: value for key, value in config.items() if key not in absent})

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
        attention_bias=None,
    ):
        given = query_mask, value_mask, key_mask, mask, attention_mask, use_causal_mask
        masks = call_masks(query, value, key, *given, heads=self.num_heads)
        query, value, key = masks.apply(query, value, key)
        kernels = self.kernels()
        if value is query and key is query and kernels.joined is not None:
            query, projected = self.project_self(query, kernels)
        else:
            query, projected = self.project_query(query, kernels), self.project(value, key, kernels)
        context, weights = self._attend(query, projected, masks.by_head(), training, attention_bias)
        outputs = carry_mask(self.merge(context, kernels), masks.query)
        return (outputs, weights) if return_attention_scores else outputs

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], self.output_dim or query_shape[-1])

    def attend(self, query, projected, key_mask=None, kernels=None):
        """Attends to a projected memory.

        Args:
            query: float (B, T, D).
            projected: `KeysAndValues`, what `project(value)` returned.
            key_mask: bool (B, S); True = attend.
            kernels: what `kernels()` returned, or None to compute them now.

        Returns:
            outputs: (B, T, O).
            weights: float32 (B, H, T, S).
        """
        kernels = kernels or self.kernels()
        mask = None
        if key_mask is not None:
            mask, real = key_mask[:, None, None, :], key_mask[:, None, :]
            projected = KeysAndValues(*(zero_masked(part, real) for part in projected))
        context, weights = self._attend(self.project_query(query, kernels), projected, mask)
        return self.merge(context, kernels), weights

    def attend_rows(self, inputs, projected, steps, key_mask, kernels):
        """Like `attend`, for the rows of the next P steps of K hypotheses per example.

        Args:
            inputs: float (N·P, D).
            projected: `KeysAndValues`, leading with B.
            steps: `NextSteps`.
            key_mask: bool (B, S).
            kernels: what `kernels()` returned.

        Returns:
            outputs: (N·P, O).
            weights: float32 (B, H, K·P, S).
        """
        units = self.num_heads * self.key_dim
        query = linear(inputs, kernels.query, kernels.query_bias, units)
        query = steps.by_example(query, self.num_heads)
        context, weights = self._attend(query, projected, key_mask[:, None, None, :])
        return self.merge_rows(context, kernels), weights

    def extend(self, inputs, cache, steps, kernels=None):
        """Self-attention of the next P steps, which join the cache; see `ops.cached_attention`.

        Args:
            inputs: float (N·P, D).
            cache: `KeysAndValues` with leading axis N = B·K and L slots.
            steps: `NextSteps`.
            kernels: what `kernels()` returned, or None to compute them now.

        Returns:
            outputs: (N·P, O).
            cache: `KeysAndValues`, a new one.
        """
        kernels = kernels or self.kernels()
        query, *new = self.project_rows(inputs, kernels)
        cache = KeysAndValues(*(write_slots(old, added, steps) for old, added in zip(cache, new)))
        context = attend_slots(steps.by_example(query, self.num_heads), *cache, steps)
        return self.merge_rows(context, kernels), cache

    def empty_cache(self, rows, length):
        """`KeysAndValues` of zeros for `rows` hypotheses and `length` slots."""
        widths = self.key_dim, self.value_dim or self.key_dim
        shapes = ((rows, self.num_heads, length, width) for width in widths)
        return KeysAndValues(*(ops.zeros(shape, self.compute_dtype) for shape in shapes))

    def _attend(self, query, projected, mask, training=None, bias=None):
        scores = scaled_dot_score(query, projected.keys)
        scores = scores if bias is None else scores + ops.cast(bias, scores.dtype)
        return attend(scores, projected.values, mask, self.drop(training))
