"""Differential attention."""

import keras
from keras import ops

from keras_attn.checks import check_above, check_probability
from keras_attn.layers.attention_layer import call_masks
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.layers.multi_head import KeysAndValues, MultiHead
from keras_attn.layers.relative_positions import check_positions
from keras_attn.ops.cached_attention import attend_slots, write_slots
from keras_attn.ops.differential_attention import (
    differential_attention,
    differential_scale,
    halves,
)
from keras_attn.ops.normalize_vectors import RMS, normalize_vectors


@keras.saving.register_keras_serializable(package="keras_attn")
class DifferentialAttention(MultiHead):
    """Multi-head attention whose weights are the difference of two softmax maps.

        context_h = (softmax(Q₁ K₁ᵀ / √d) − λ softmax(Q₂ K₂ᵀ / √d)) V,
        outputs = (1 − λ_init) [RMSNorm(context_1); …; RMSNorm(context_H)] W^O,
        λ = exp(q₁ · k₁) − exp(q₂ · k₂) + λ_init

    What both maps see is subtracted, as a differential amplifier subtracts noise. Q₁ and Q₂ are the
    halves of a head's queries, K₁ and K₂ those of its keys; so kernels have the shapes of
    `MultiHeadAttention`'s with the same arguments. The vectors of λ and the gain of the
    normalization are learned, and shared by the heads. For step-by-step decoding, `extend` a cache
    of the layer's own steps.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0, even. 2·d, width of a head's queries and keys.
        value_dim: int > 0 or None. d_v, width of a head's values; None is key_dim.
        lambda_init: float in [0, 1). λ_init; the paper's l-th layer has
            `ops.initial_lambda(l)`.
        epsilon: float > 0. Of the normalization.
        positions: `RotaryPositions`, which turn each half by itself, `AlibiBias`, `RelativeBias`,
            or None.
        dropout: probability. On the differences of weights.
        use_bias: bool. Whether all projections have a bias; the paper's have none.
        output_shape: int > 0, a tuple of one, or None. Width O of the output; None is the query's.
        kernel_initializer, bias_initializer, seed, num_key_value_heads: as in `MultiHeadAttention`.

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

    Returns:
        outputs: (B, T, O), compute dtype, with the query's mask; 0, or the output's bias, where
            fully masked.
        weights: with return_attention_scores, float32 (B, H, T, S), the differences before dropout,
            which may be negative; rows sum to 1 − λ, or are all 0 where fully masked.

    Raises:
        ValueError: a width < 1; an odd key_dim; num_key_value_heads that does not divide num_heads;
            lambda_init or dropout outside [0, 1); epsilon ≤ 0; positions that do not fit the heads;
            a list of tensors; a key without a value; a mask of floats or of another shape.

    Example:
        >>> layer = DifferentialAttention(num_heads=2, key_dim=6, lambda_init=0.2)
        >>> outputs, weights = layer(
        ...     ops.ones((2, 3, 7)), ops.ones((2, 5, 7)), return_attention_scores=True
        ... )
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 3, 7), (2, 2, 3, 5))

    Source: Ye et al. 2024, arXiv:2410.05258, 2. Differs: biases by default; λ_init is 0.8 unless
    given, for a layer does not know its depth; dropout, which the paper does not define.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        value_dim=None,
        *,
        lambda_init=0.8,
        epsilon=1e-5,
        positions=None,
        **kwargs,
    ):
        super().__init__(num_heads, key_dim, value_dim, **kwargs)
        if key_dim % 2:
            raise ValueError(
                f"Expected an even key_dim, for each map has half of it. Received: "
                f"key_dim={key_dim}"
            )
        check_probability("lambda_init", lambda_init)
        check_above("epsilon", epsilon)
        check_positions(positions, num_heads, key_dim // 2)
        self.lambda_init, self.epsilon, self.positions = lambda_init, epsilon, positions

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        self.make_kernels(query_shape[-1], value_shape[-1], (key_shape or value_shape)[-1])
        normal = keras.initializers.RandomNormal(stddev=0.1)
        self.lambda_queries, self.lambda_keys = (
            self.add_weight(shape=(2, self.key_dim // 2), initializer=normal.clone(), name=name)
            for name in ("lambda_queries", "lambda_keys")
        )
        gains = (self.value_dim or self.key_dim,)
        self.gain = self.add_weight(shape=gains, initializer="ones", name="gain")
        if self.positions is not None and not self.positions.built:
            self.positions.build((None,))

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
        given = query_mask, value_mask, key_mask, mask, attention_mask, use_causal_mask
        masks = call_masks(query, value, key, *given, heads=self.num_heads)
        kernels = self.kernels()
        query, (keys, values) = self.project_all(*masks.apply(query, value, key), kernels)
        bias = None
        if self.positions is not None:
            places = [ops.arange(ops.shape(part)[2]) for part in (query, keys)]
            query, keys = self._turned(query, places[0]), self._turned(keys, places[1])
            bias = self.positions.bias(*places)
        options = masks.by_head(), bias, self.drop(training)
        context, weights = differential_attention(query, keys, values, self._scale(), *options)
        outputs = carry_mask(self.merge(self._normalized(context), kernels), masks.query)
        return (outputs, weights) if return_attention_scores else outputs

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], self.output_dim or query_shape[-1])

    def extend(self, inputs, cache, steps, kernels=None):
        """Self-attention of the next P steps, which join the cache; see `ops.cached_attention`.

        Args:
            inputs: float (N·P, D).
            cache: `KeysAndValues` with leading axis N = B·K, G heads and L slots.
            steps: `NextSteps` for G heads.
            kernels: what `kernels()` returned, or None to compute them now.

        Returns:
            outputs: (N·P, O).
            cache: `KeysAndValues`, a new one.
        """
        kernels = kernels or self.kernels()
        query, keys, values = self.project_rows(inputs, kernels)
        query, bias = steps.by_example(query, self.num_heads), None
        if self.positions is not None:
            places, slots = steps.query_positions(), steps.slot_positions()
            query = self._turned(query, places[:, None])
            keys = self._turned(keys, ops.reshape(steps.positions, (-1,)))
            bias = self.positions.bias(places, slots)
        written = [write_slots(old, added, steps) for old, added in zip(cache, (keys, values))]
        cache, (seen_keys, seen_values) = (KeysAndValues(*parts) for parts in zip(*written))
        first, second = (
            ops.cast(attend_slots(*half, seen_values, steps, bias=bias), "float32")
            for half in zip(halves(query), halves(seen_keys))
        )
        context = self._normalized(first - self._scale() * second)
        return self.merge_rows(ops.cast(context, self.compute_dtype), kernels), cache

    def empty_cache(self, rows, length):
        """`KeysAndValues` of zeros for `rows` hypotheses and `length` steps."""
        return self.zero_cache(rows, length)

    def _turned(self, inputs, positions):
        """Queries or keys (..., 2·d), or rows of all heads, turned half by half, at positions that
        broadcast to the leading axes."""
        shape, width = ops.shape(inputs), self.key_dim // 2
        by_half = ops.reshape(inputs, (*shape[:-1], inputs.shape[-1] // width, width))
        return ops.reshape(self.positions.rotate(by_half, positions[..., None]), shape)

    def _scale(self):
        return differential_scale(self.lambda_queries, self.lambda_keys, self.lambda_init)

    def _normalized(self, context):
        return normalize_vectors(context, RMS, self.gain, self.epsilon) * (1 - self.lambda_init)
