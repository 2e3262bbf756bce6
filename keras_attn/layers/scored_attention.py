"""Base of all score-based attention layers: the call, masks, the weighted sum."""

from keras import ops

from keras_attn.layers.attention_layer import AttentionLayer


class ScoredAttention(AttentionLayer):
    """Abstract: attention whose weights come from a score of query and key.

    Call arguments and returns: see `AttentionLayer`.
    """

    def build(self, query_shape, value_shape=None, key_shape=None):
        """Creates no weights; subclasses may."""

    def _kernel(self, shape, name):
        """A weight with values of its own, of `kernel_initializer`."""
        initializer = self.kernel_initializer.clone()
        return self.add_weight(shape=shape, initializer=initializer, name=name)

    def project_keys(self, keys):
        """The part of the score that depends on the keys (B, S, E) alone; computed once."""
        raise NotImplementedError

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
        raise NotImplementedError

    def attend_masked(self, query, value, key, masks):
        single = len(query.shape) == 2
        rows = ops.expand_dims(query, 1) if single else query
        context, weights = self.attend(rows, self.project_keys(key), value, masks.by_pair())
        if single:
            context, weights = context[:, 0], weights[:, 0]
        return context, weights

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], (value_shape or query_shape)[-1])
