"""The general attention layer: any score, with or without projections of queries, keys, values."""

import keras
from keras import ops

from keras_attn.layers.held_config import held_config
from keras_attn.layers.scored_attention import ScoredAttention, check_width
from keras_attn.ops.masks import causal_mask, combine_masks


@keras.saving.register_keras_serializable(package="keras_attn")
class GeneralAttention(keras.layers.Layer):
    """General attention layer: q = x_q W_q, k = x_k W_k, v = x_v W_v, then any score and a softmax.

        context_t = Σ_s softmax_s(score(q_t, k_s)) · v_s

    Without keys it is self-attention: keys and values come from the query. A projection whose width
    is None is left out (the identity).

    Args:
        attention: a `ScoredAttention` layer: `DotAttention`, `ScaledDotAttention`,
            `MultiplicativeAttention` or `AdditiveAttention`.
        query_units: int > 0 or None. Width of W_q.
        key_units: int > 0 or None. Width of W_k.
        value_units: int > 0 or None. Width of W_v.
        causal: bool. Query t sees keys 0 to t only.
        use_bias: bool. Whether the projections have a bias.

    Call arguments:
        query: float (B, T, D), or (B, D) for a single query.
        keys: float (B, S, E), or None for self-attention.
        values: float (B, S, F); the keys if left out.
        keys_mask: bool (B, S); True = attend. Filled in by Keras where the keys carry a mask.
        attention_mask: bool, broadcastable to (B, T, S).
        mask: bool (B, T), in self-attention: which positions are real. Filled in by Keras.

    Returns:
        context: (B, T, value_units or F), compute dtype, or without T for a single query.
        weights: float32 (B, T, S) or (B, S); rows sum to 1, or are all 0 where fully masked.

    Raises:
        ValueError: a width < 1; `attention` is no ScoredAttention; self-attention or a causal mask
            with a single query.

    Example:
        >>> from keras_attn.layers import ScaledDotAttention
        >>> layer = GeneralAttention(ScaledDotAttention(), 7, 7, 5, causal=True)
        >>> context, weights = layer(ops.ones((2, 3, 11)))
        >>> tuple(context.shape), tuple(weights.shape)
        ((2, 3, 5), (2, 3, 3))

    Source: the usual lecture form of attention; self-attention as in arXiv:1706.03762, 3.2.
    """

    def __init__(
        self,
        attention,
        query_units=None,
        key_units=None,
        value_units=None,
        causal=False,
        use_bias=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(attention, ScoredAttention):
            raise ValueError(f"Expected a ScoredAttention layer. Received: attention={attention!r}")
        widths = {"query_units": query_units, "key_units": key_units, "value_units": value_units}
        for name, units in widths.items():
            if units is not None:
                check_width(name, units)
        self.supports_masking = True
        self.attention = attention
        self.query_units, self.key_units, self.value_units = widths.values()
        self.causal = bool(causal)
        self.use_bias = bool(use_bias)
        self.query_projection = self._projection(query_units, "query")
        self.key_projection = self._projection(key_units, "key")
        self.value_projection = self._projection(value_units, "value")

    def _projection(self, units, name):
        if units is None:
            return None
        return keras.layers.Dense(units, use_bias=self.use_bias, name=name, dtype=self.dtype_policy)

    def build(self, query_shape, keys_shape=None, values_shape=None):
        keys_shape = query_shape if keys_shape is None else keys_shape
        values_shape = keys_shape if values_shape is None else values_shape
        shapes = []
        for projection, shape in (
            (self.query_projection, query_shape),
            (self.key_projection, keys_shape),
            (self.value_projection, values_shape),
        ):
            if projection is not None:
                projection.build(shape)
                shape = (*shape[:-1], projection.units)
            shapes.append(shape)
        if not self.attention.built:
            self.attention.build(*shapes)

    def call(self, query, keys=None, values=None, keys_mask=None, attention_mask=None, mask=None):
        single = len(query.shape) == 2
        if single and (keys is None or self.causal):
            raise ValueError(
                "Expected a query of shape (B, T, D) for self-attention or a causal mask. "
                f"Received: query of shape {tuple(query.shape)}"
            )
        if keys is None:
            keys, keys_mask = query, combine_masks(keys_mask, mask)
        values = keys if values is None else values
        if self.causal:
            causal = causal_mask(ops.shape(query)[1], ops.shape(keys)[1])
            attention_mask = combine_masks(attention_mask, causal)
        return self.attention(
            _project(self.query_projection, query),
            _project(self.key_projection, keys),
            _project(self.value_projection, values),
            keys_mask=keys_mask,
            attention_mask=attention_mask,
        )

    def compute_mask(self, *args, **kwargs):
        """No mask goes on: pass `query` masks explicitly where a later layer wants them."""
        return None

    def get_config(self):
        config = {
            "attention": held_config(self.attention),
            "query_units": self.query_units,
            "key_units": self.key_units,
            "value_units": self.value_units,
            "causal": self.causal,
            "use_bias": self.use_bias,
        }
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})


def _project(projection, inputs):
    return inputs if projection is None else projection(inputs)
