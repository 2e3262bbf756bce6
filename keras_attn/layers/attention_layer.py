"""Base of attention layers: the one call, and its masks."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.layers.masked_layer import CALL, MaskedLayer, carry_mask, sequence_mask
from keras_attn.ops.masks import (
    as_attention_mask,
    causal_mask,
    combine_masks,
    sliding_window_mask,
    zero_masked,
)


class Masks(NamedTuple):
    """The combined masks of one call; None for no mask.

    Attributes:
        query: bool (B, T). Real (unpadded) queries; the output carries it.
        memory: bool, broadcastable to (B, S). Keys and values that some query may attend to; the
            same tensor as `query` where they are the queries.
        pairs: bool, broadcastable to (B, T, S) or (B, H, T, S). Which query attends to which key.
    """

    query: Any
    memory: Any
    pairs: Any

    def apply(self, query, value=None, key=None):
        """Query, value and key of the call, 0 where they are masked.

        Value and key are the query unless given, and then the same tensor wherever they have its
        mask.
        """
        value, key = memory_of(query, value, key)
        selected = zero_masked(query, self.query)

        def of_memory(inputs):
            shared = inputs is query and self.memory is self.query
            return selected if shared else zero_masked(inputs, self.memory)

        values = of_memory(value)
        return selected, values, values if key is value else of_memory(key)

    def by_head(self):
        """bool, broadcastable to (B, H, T, S), or None; `pairs` has an axis of heads, or two."""
        memory = None if self.memory is None else self.memory[:, None, None, :]
        return combine_masks(memory, self.pairs)

    def by_pair(self):
        """bool, broadcastable to (B, T, S), or None."""
        memory = None if self.memory is None else self.memory[:, None, :]
        return combine_masks(memory, self.pairs)


class AttentionLayer(MaskedLayer):
    """Abstract: attention with the call of Keras' attention layers. Subclasses attend.

    A key that some query may attend to is not masked. `MultiHeadAttention` and
    `MultiStepAttention` take one more tensor, and so declare the same call with it.

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

    ranks = {**MaskedLayer.ranks, "query": (2, 3)}

    def attend_masked(self, query, value, key, masks):
        """The call, once its masks are combined and applied.

        Args:
            query: float (B, T, D) or (B, D).
            value: float (B, S, F), 0 where `masks.memory` is False.
            key: float (B, S, E), likewise.
            masks: `Masks`.

        Returns:
            context: (B, T, F) or (B, F).
            weights: float32 (B, T, S) or (B, S).
        """
        raise NotImplementedError

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
        given = query_mask, value_mask, key_mask, mask, attention_mask, use_causal_mask
        masks = call_masks(query, value, key, *given)
        context, weights = self.attend_masked(*masks.apply(query, value, key), masks)
        context = carry_mask(context, masks.query)
        return (context, weights) if return_attention_scores else context


def call_scored(layer, *inputs, return_attention_scores, **options):
    """The outputs of a call as a tuple, of which all but the first are weights; () of them
    without `return_attention_scores`."""
    outputs = layer(*inputs, return_attention_scores=return_attention_scores, **options)
    return outputs if return_attention_scores else (outputs,)


def memory_of(query, value, key):
    """Value and key of a call; by default the query.

    Raises:
        ValueError: a key without a value.
    """
    if value is None and key is not None:
        raise ValueError(f"Expected a value with the key, as in {CALL}. Received: a key alone")
    value = query if value is None else value
    return value, value if key is None else key


def query_mask_of(query, query_mask, mask):
    """The mask of queries (B, T), or None; of single queries (B, D) it says which are real.

    Raises:
        ValueError: a mask of floats, or of another shape; one of keys for a single query.
    """
    if len(query.shape) == 3:
        return sequence_mask(query, query_mask=query_mask, mask=mask)
    given = [given_mask for given_mask in (query_mask, mask) if given_mask is not None]
    if any(len(ops.shape(given_mask)) != 1 for given_mask in given):
        raise ValueError(
            "Expected value_mask with a single query (B, D). "
            f"Received: {'mask' if query_mask is None else 'query_mask'}"
        )
    return None


def call_masks(
    query,
    value=None,
    key=None,
    query_mask=None,
    value_mask=None,
    key_mask=None,
    mask=None,
    attention_mask=None,
    use_causal_mask=False,
    heads=None,
    window=None,
):
    """`Masks` of a call: a position must be allowed by all explicit and carried masks.

    Args:
        query: float (B, T, D), or (B, D) for a single query.
        value, key: float (B, S, ...), or None for self-attention.
        query_mask, mask: bool (B, T).
        value_mask, key_mask: bool (B, S).
        attention_mask: bool, broadcastable to (B, T, S); of a single query (B, S).
        use_causal_mask: bool.
        heads: int or None. H, if weights have an axis of heads.
        window: int or None. A query sees the keys less than so many positions away.

    Raises:
        ValueError: a mask of floats, or of another shape; a causal mask with a single query.
    """
    single, itself = len(query.shape) == 2, value is None
    if single and use_causal_mask:
        raise ValueError(
            "Expected a query of shape (B, T, D) with use_causal_mask. "
            f"Received: query of shape {tuple(query.shape)}"
        )
    queries = query_mask_of(query, query_mask, mask)
    value, key = memory_of(query, value, key)
    length, size = (1 if single else query.shape[1]), key.shape[1]
    if attention_mask is not None:
        if single:
            attention_mask = ops.expand_dims(attention_mask, -2)
        attention_mask = as_attention_mask(attention_mask, query.shape[0], length, size, heads)
    pairs = attention_mask
    if not single:
        sizes = ops.shape(query)[1], ops.shape(key)[1]
        causal = causal_mask(*sizes) if use_causal_mask else None
        near = None if window is None else sliding_window_mask(*sizes, window)
        pairs = combine_masks(attention_mask, causal, near)
    if itself and value_mask is None and key_mask is None and attention_mask is None:
        return Masks(queries, queries, pairs)  # Causal or in a window, every key has a query.
    memory = combine_masks(
        sequence_mask(value, value_mask=value_mask),
        sequence_mask(key, key_mask=key_mask),
        queries if itself else None,
        _attended(pairs),
    )
    return Masks(queries, memory, pairs)


def _attended(pairs):
    """Keys that some query may attend to, broadcastable to (B, S), of a mask of pairs or None."""
    if pairs is None:
        return None
    attended = ops.any(pairs, axis=-2)
    if len(attended.shape) == 3:
        return ops.any(attended, axis=1)  # By some head.
    return attended if len(attended.shape) == 2 else attended[None]
