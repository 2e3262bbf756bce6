"""The general attention layer: any score, with or without projections of queries, keys, values."""

import keras

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.attention_layer import AttentionLayer
from keras_attn.layers.scored_attention import ScoredAttention


@keras.saving.register_keras_serializable(package="keras_attn")
class GeneralAttention(AttentionLayer):
    """General attention layer: q = x_q W_q, k = x_k W_k, v = x_v W_v, then any score and a softmax.

        context_t = Σ_s softmax_s(score(q_t, k_s)) · v_s

    Without a value it is self-attention: keys and values come from the query. A projection whose
    width is None is left out (the identity).

    Args:
        attention: a `ScoredAttention` layer: `DotAttention`, `ScaledDotAttention`,
            `MultiplicativeAttention` or `AdditiveAttention`.
        query_dim: int > 0 or None. Width of W_q.
        key_dim: int > 0 or None. Width of W_k.
        value_dim: int > 0 or None. Width of W_v.
        use_bias: bool. Whether the projections have a bias.

    Call arguments: see `AttentionLayer`.

    Returns:
        context: (B, T, value_dim or F), compute dtype, or without T for a single query; with the
            query's mask.
        weights: with return_attention_scores, float32 (B, T, S) or (B, S); rows sum to 1, or are
            all 0 where fully masked.

    Raises:
        ValueError: a width < 1; `attention` is no ScoredAttention; a call that `AttentionLayer`
            refuses.

    Example:
        >>> from keras import ops
        >>> from keras_attn.layers import ScaledDotAttention
        >>> layer = GeneralAttention(ScaledDotAttention(), 7, 7, 5)
        >>> context = layer(ops.zeros((2, 3, 11)), use_causal_mask=True)
        >>> tuple(context.shape)
        (2, 3, 5)

    Source: the usual lecture form of attention; self-attention as in arXiv:1706.03762, 3.2.
    """

    def __init__(
        self,
        attention,
        query_dim=None,
        key_dim=None,
        value_dim=None,
        use_bias=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(attention, ScoredAttention):
            raise ValueError(f"Expected a ScoredAttention layer. Received: attention={attention!r}")
        widths = {"query_dim": query_dim, "key_dim": key_dim, "value_dim": value_dim}
        check_sizes(**{name: units for name, units in widths.items() if units is not None})
        self.attention = attention
        self.query_dim, self.key_dim, self.value_dim = widths.values()
        self.use_bias = check_flag("use_bias", use_bias)
        self.query_projection = self._projection(query_dim, "query")
        self.key_projection = self._projection(key_dim, "key")
        self.value_projection = self._projection(value_dim, "value")

    def _projection(self, units, name):
        if units is None:
            return None
        return keras.layers.Dense(units, use_bias=self.use_bias, name=name, dtype=self.dtype_policy)

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = query_shape if value_shape is None else value_shape
        key_shape = value_shape if key_shape is None else key_shape
        shapes = []
        for projection, shape in (
            (self.query_projection, query_shape),
            (self.value_projection, value_shape),
            (self.key_projection, key_shape),
        ):
            if projection is not None:
                projection.build(shape)
                shape = (*shape[:-1], projection.units)
            shapes.append(shape)
        if not self.attention.built:
            self.attention.build(*shapes)

    def attend_masked(self, query, value, key, masks):
        return self.attention.attend_masked(
            _project(self.query_projection, query),
            _project(self.value_projection, value),
            _project(self.key_projection, key),
            masks,
        )

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], self.value_dim or (value_shape or query_shape)[-1])


def _project(projection, inputs):
    return inputs if projection is None else projection(inputs)
