"""What all score-based attention layers share: the call, the masks, the weighted sum."""

import keras
from keras import ops

from keras_attn.ops.attend import attend
from keras_attn.ops.masks import combine_masks


class ScoredAttention(keras.layers.Layer):
    """Abstract: attention whose weights are the softmax of a score. Subclasses give the score.

    Call arguments:
        query: float (B, T, D), or (B, D) for a single query.
        keys: float (B, S, E).
        values: float (B, S, F); the keys if left out.
        keys_mask: bool (B, S); True = attend. Filled in by Keras where the keys carry a mask.
        attention_mask: bool, broadcastable to (B, T, S) (single query: to (B, S)).

    Returns:
        context: (B, T, F), compute dtype, or (B, F) for a single query.
        weights: float32 (B, T, S) or (B, S); rows sum to 1, or are all 0 where fully masked.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, query_shape, keys_shape, values_shape=None):
        """No weights, unless a subclass has some."""

    def project_keys(self, keys):
        """The part of the score that depends on the keys (B, S, E) alone; computed once."""
        return keys

    def score(self, query, projected_keys):
        """float32 (B, T, S) from query (B, T, D) and what `project_keys` returned."""
        raise NotImplementedError

    def attend(self, query, projected_keys, values, mask=None):
        """As the call, with keys already projected and one mask (B, T, S)."""
        return attend(self.score(query, projected_keys), values, mask)

    def call(self, query, keys, values=None, keys_mask=None, attention_mask=None):
        single = len(query.shape) == 2
        if single:
            query = ops.expand_dims(query, 1)
        if keys_mask is not None:
            keys_mask = ops.expand_dims(keys_mask, 1)
        if single and attention_mask is not None:
            attention_mask = ops.expand_dims(attention_mask, -2)
        mask = combine_masks(keys_mask, attention_mask)
        values = keys if values is None else values
        context, weights = self.attend(query, self.project_keys(keys), values, mask)
        return (context[:, 0], weights[:, 0]) if single else (context, weights)

    def compute_mask(self, *args, **kwargs):
        """No mask goes on: pass `query` masks explicitly where a later layer wants them."""
        return None


def check_width(name, units):
    """Raises ValueError unless `units` is an int of at least 1."""
    if not isinstance(units, int) or isinstance(units, bool) or units < 1:
        raise ValueError(f"Expected {name} >= 1. Received: {name}={units!r}")
