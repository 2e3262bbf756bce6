"""Base of all score-based attention layers: the call, masks, the weighted sum."""

from keras import ops

from keras_attn.layers.attention_layer import AttentionLayer, call_masks, carry_mask
from keras_attn.ops.attend import attend


class ScoredAttention(AttentionLayer):
    """Abstract: attention whose weights are the softmax of a score. Subclasses define the score.

    Call arguments:
        query: float (B, T, D), or (B, D) for a single query.
        value: float (B, S, F), or None for self-attention.
        key: float (B, S, E). Default: value.
        query_mask, value_mask, key_mask: bool (B, T), (B, S), (B, S); True = attend. Filled in by
            Keras.
        mask: bool (B, T), the same as query_mask; in self-attention filled in by Keras.
        attention_mask: bool, broadcastable to (B, T, S), of a single query to (B, S). All masks
            must allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Query t sees keys 0 to t only.

    Returns:
        context: (B, T, F), compute dtype, or (B, F) for a single query; with the query's mask. 0
            where fully masked.
        weights: with return_attention_scores, float32 (B, T, S) or (B, S); rows sum to 1, or are
            all 0 where fully masked.

    Raises:
        ValueError: a list of tensors; a key without a value; self-attention or a causal mask with
            a single query; a mask of floats or of another shape.
    """

    ranks = {**AttentionLayer.ranks, "query": (2, 3)}

    def build(self, query_shape, value_shape=None, key_shape=None):
        """Creates no weights; subclasses may."""

    def project_keys(self, keys):
        """The part of the score that depends on the keys (B, S, E) alone; computed once."""
        return keys

    def score(self, query, projected_keys):
        """float32 (B, T, S) from query (B, T, D) and what `project_keys` returned."""
        raise NotImplementedError

    def attend(self, query, projected_keys, values, mask=None, positions=None):
        """Context and weights, with keys already projected.

        Args:
            query: float (B, T, D).
            projected_keys: what `project_keys` returned.
            values: float (B, S, F), finite also where masked; see `ops.zero_masked`.
            mask: bool, broadcastable to (B, T, S), or None.
            positions: int32, broadcastable to (B, T). Of the queries, for attentions that depend on
                them; None: 0 to T − 1.

        Returns:
            context: (B, T, F), dtype of the values.
            weights: float32 (B, T, S).
        """
        return attend(self.score(query, projected_keys), values, mask)

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
        if len(query.shape) == 2 and value is None:
            raise ValueError(
                "Expected a query of shape (B, T, D) for self-attention. "
                f"Received: query of shape {tuple(query.shape)}"
            )
        masks = call_masks(
            query,
            value,
            key,
            query_mask,
            value_mask,
            key_mask,
            mask,
            attention_mask,
            use_causal_mask,
        )
        context, weights = self.attend_masked(*masks.apply(query, value, key), masks)
        return (context, weights) if return_attention_scores else context

    def attend_masked(self, query, value, key, masks):
        """The call, once its masks are combined and applied.

        Args:
            query: float (B, T, D) or (B, D).
            value: float (B, S, F), 0 where `masks.memory` is False.
            key: float (B, S, E), likewise.
            masks: `Masks`.

        Returns:
            context: (B, T, F) or (B, F), with the query's mask.
            weights: float32 (B, T, S) or (B, S).
        """
        single = len(query.shape) == 2
        rows = ops.expand_dims(query, 1) if single else query
        context, weights = self.attend(rows, self.project_keys(key), value, masks.by_pair())
        if single:
            context, weights = context[:, 0], weights[:, 0]
        return carry_mask(context, masks.query), weights

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], (value_shape or query_shape)[-1])


def check_width(name, units):
    """Raises ValueError unless `units` is an int of at least 1."""
    if not isinstance(units, int) or isinstance(units, bool) or units < 1:
        raise ValueError(f"Expected {name} >= 1. Received: {name}={units!r}")
