"""Multi-head attention."""

import functools

import keras
from keras import ops

from keras_attn.checks import check_above, check_choice, check_flag, check_sizes
from keras_attn.layers.attention_layer import call_masks
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.layers.multi_head import KeysAndValues, MultiHead
from keras_attn.layers.relative_positions import check_positions
from keras_attn.ops.attend import attend
from keras_attn.ops.attention_context import attention_context
from keras_attn.ops.cached_attention import attend_slots, cache_slots, write_slots
from keras_attn.ops.linear import linear
from keras_attn.ops.masks import combine_masks, zero_masked
from keras_attn.ops.normalize_vectors import L2, LAYER, RMS
from keras_attn.ops.scores import capped_score

NOT_OFFERED = {
    "attention_axes": (None, (1,), [1]),
    "use_gate": (False, None),
    "flash_attention": (None, False),
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
    the weights of Keras' layer (`set_weights`), also those of `keras.layers.GroupQueryAttention`.
    For step-by-step decoding, `project` a memory once and `attend` to it, or `extend` a cache of
    the layer's own steps.

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
        num_key_value_heads: int > 0 or None. G, heads of keys and values, each for H / G
            neighboring heads of queries: grouped queries, and multi-query attention where it is 1.
            None is H.
        sliding_window: int > 0 or None. A query sees the keys fewer than this many positions away,
            itself included; caches have this many slots.
        soft_cap: float > 0 or None. c of c · tanh(score / c), instead of the score.
        positions: `RotaryPositions`, `AlibiBias`, `RelativeBias`, or None. How the score
            depends on the distance between query and key.
        query_key_normalization: "layer" (without an offset) or "rms", which normalize the queries
            and the keys of each head and multiply them by a learned gain (d_k,) each, shared by
            the heads; "l2", which makes them of unit length and their score g · q · k with a
            learned number g; or None. Before positions turn them.
        use_sinks: bool. Whether each head h has a learned score z_h, 0 at first, that takes a part
            of the weight and gives it to no key: α_s = exp(e_s) / (exp(z_h) + Σ exp(e_s)).

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
        attention_bias: float, broadcastable to (B, H, T, S), added to the scores, where −inf masks;
            None for none.

    Returns:
        outputs: (B, T, O), compute dtype, with the query's mask; 0, or the output's bias, where
            fully masked.
        weights: with return_attention_scores, float32 (B, H, T, S) before dropout; rows sum to 1,
            with sinks to less, or are all 0 where fully masked.

    Raises:
        ValueError: a width or window < 1; num_key_value_heads that does not divide num_heads;
            soft_cap ≤ 0; positions that do not fit the heads; an unknown normalization; dropout
            outside [0, 1); a list of tensors; a key without a value; a mask of floats or of another
            shape.

    Example:
        >>> layer = MultiHeadAttention(num_heads=2, key_dim=3, value_dim=5)
        >>> outputs, weights = layer(
        ...     ops.ones((2, 3, 7)), ops.ones((2, 11, 7)), return_attention_scores=True
        ... )
        >>> tuple(outputs.shape), tuple(weights.shape)
        ((2, 3, 7), (2, 2, 3, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.2.2; grouped queries Ainslie et al. 2023,
    arXiv:2305.13245, and Shazeer 2019, arXiv:1911.02150; sliding window Beltagy et al. 2020,
    arXiv:2004.05150, 3.1; soft cap Gemma Team 2024, arXiv:2408.00118, 2; normalization Dehghani et
    al. 2023, arXiv:2302.05442, 2, and "l2" Henry et al. 2020, arXiv:2010.04245, 3; sinks OpenAI
    2025, arXiv:2508.10925, 2.2, and Xiao et al. 2023, arXiv:2309.17453. Differs: biases by default;
    g is 10 at first, where Henry et al. compute it from the length of the sequences. Differs from
    Keras' layer: fully masked rows are 0; padded queries are read as 0, and their outputs are not
    zeroed; kernels are initialized like matrices (D, H·d_k), so their standard deviation does not
    shrink with H.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        value_dim=None,
        dropout=0.0,
        use_bias=True,
        output_shape=None,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed=None,
        num_key_value_heads=None,
        sliding_window=None,
        soft_cap=None,
        positions=None,
        query_key_normalization=None,
        use_sinks=False,
        **kwargs,
    ):
        super().__init__(
            num_heads,
            key_dim,
            value_dim,
            dropout,
            use_bias,
            output_shape,
            kernel_initializer,
            bias_initializer,
            seed,
            num_key_value_heads,
            **kwargs,
        )
        check_scores(sliding_window, soft_cap, query_key_normalization)
        check_positions(positions, num_heads, key_dim)
        self.sliding_window, self.soft_cap, self.positions = sliding_window, soft_cap, positions
        self.query_key_normalization = query_key_normalization
        self.use_sinks = check_flag("use_sinks", use_sinks)

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config`; also takes the config of Keras' layer."""
        absent = {key: value for key, value in config.items() if key in NOT_OFFERED}
        if chosen := [key for key, value in absent.items() if value not in NOT_OFFERED[key]]:
            raise ValueError(
                f"Expected a config without {', '.join(chosen)}, which MultiHeadAttention does "
                f"not support. Received: {', '.join(f'{key}={absent[key]!r}' for key in chosen)}"
            )
        return super().from_config({key: config[key] for key in config.keys() - absent.keys()})

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        self.make_kernels(query_shape[-1], value_shape[-1], (key_shape or value_shape)[-1])
        self.sinks = None
        if self.use_sinks:
            shape = (self.num_heads,)
            self.sinks = self.add_weight(shape=shape, initializer="zeros", name="sinks")
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
        attention_bias=None,
    ):
        given = query_mask, value_mask, key_mask, mask, attention_mask, use_causal_mask
        options = {"heads": self.num_heads, "window": self.sliding_window}
        masks = call_masks(query, value, key, *given, **options)
        kernels = self.kernels()
        query, projected = self.project_all(*masks.apply(query, value, key), kernels)
        mask, biases = masks.by_head(), []
        if attention_bias is not None:
            allowed = ops.not_equal(attention_bias, float("-inf"))
            biases.append(ops.where(allowed, attention_bias, 0))
            mask = combine_masks(mask, allowed)
        if self.positions is not None:
            places = [ops.arange(ops.shape(part)[2]) for part in (query, projected.keys)]
            query = self.positions.rotate(query, places[0])
            projected = projected._replace(keys=self.positions.rotate(projected.keys, places[1]))
            biases.append(self.positions.bias(*places))
        dropout = self.drop(training)
        if return_attention_scores or dropout or self.soft_cap or self.use_sinks:
            context, weights = self._attend(query, projected, mask, dropout, biases)
        else:
            context = attention_context(query, *projected, mask, added_biases(biases))
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
        self._check_memory()
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
        self._check_memory()
        units = self.num_heads * self.key_dim
        query = linear(inputs, kernels.query, kernels.query_bias, units)
        query = steps.by_example(self.normalize_query(query), self.num_heads)
        context, weights = self._attend(query, projected, key_mask[:, None, None, :])
        return self.merge_rows(context, kernels), weights

    def extend(self, inputs, cache, steps, kernels=None):
        """Self-attention of the next P steps, which join the cache; see `ops.cached_attention`.

        Args:
            inputs: float (N·P, D).
            cache: `KeysAndValues` with leading axis N = B·K, G heads and L slots.
            steps: `NextSteps` for G heads and the layer's window.
            kernels: what `kernels()` returned, or None to compute them now.

        Returns:
            outputs: (N·P, O).
            cache: `KeysAndValues`, a new one.
        """
        kernels = kernels or self.kernels()
        query, *new = self.project_rows(inputs, kernels)
        query, bias = steps.by_example(query, self.num_heads), None
        if self.positions is not None:
            places, slots = steps.query_positions(), steps.slot_positions()
            query = self.positions.rotate(query, places[:, None])
            new[0] = self._rotated_rows(new[0], steps.positions)
            bias = self.positions.bias(places, slots)
        written = [write_slots(old, added, steps) for old, added in zip(cache, new)]
        cache, seen = (KeysAndValues(*parts) for parts in zip(*written))
        context = attend_slots(query, *seen, steps, self.soft_cap, bias, self._sinks())
        return self.merge_rows(context, kernels), cache

    def _rotated_rows(self, keys, positions):
        """Keys (N·P, G·d_k) of steps at positions (N, P), turned."""
        split = (*tuple(ops.shape(positions)), self.groups, self.key_dim)
        turned = self.positions.rotate(ops.reshape(keys, split), positions[..., None])
        return ops.reshape(turned, (-1, self.groups * self.key_dim))

    def empty_cache(self, rows, length):
        """`KeysAndValues` of zeros for `rows` hypotheses and `length` steps: a slot for each, or
        for each of the window."""
        return self.zero_cache(rows, cache_slots(length, self.sliding_window))

    def _attend(self, query, projected, mask, dropout=None, biases=()):
        scores = capped_score(query, projected.keys, self.soft_cap)
        if (bias := added_biases(biases)) is not None:
            scores = scores + bias
        return attend(scores, projected.values, mask, dropout, sinks=self._sinks())

    def _sinks(self):
        """float32 (H, 1, 1), or None."""
        return None if self.sinks is None else ops.cast(self.sinks, "float32")[:, None, None]

    def _check_memory(self):
        """Raises ValueError unless a memory may be attended to without knowing where a query is."""
        if self.positions is not None or self.sliding_window is not None:
            kind = "a sliding_window" if self.positions is None else "positions"
            raise ValueError(
                f"Expected a layer without positions and sliding_window to attend to a memory, "
                f"whose queries have no position in it. Received: {kind}"
            )


def added_biases(biases):
    """The float32 sum of the biases that are not None; None if there are none."""
    added = [ops.cast(bias, "float32") for bias in biases if bias is not None]
    return functools.reduce(ops.add, added) if added else None


def check_scores(sliding_window, soft_cap, query_key_normalization):
    """Raises ValueError unless all are None or in their range."""
    if sliding_window is not None:
        check_sizes(sliding_window=sliding_window)
    if soft_cap is not None:
        check_above("soft_cap", soft_cap)
    if query_key_normalization is not None:
        kinds = LAYER, RMS, L2
        check_choice("query_key_normalization", query_key_normalization, kinds)
