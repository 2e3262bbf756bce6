"""What all attention layers share: Keras' call, its masks, and what they refuse."""

from typing import Any, NamedTuple

import keras
from keras import ops
from keras.src import backend  # Keras' masks have no public functions.

from keras_attn.former_names import FormerCallNames
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.ops.masks import as_attention_mask, as_mask, causal_mask, combine_masks

CALL = "layer(query, value=None, key=None)"


class Masks(NamedTuple):
    """The masks of one call, combined by what they mean; None where there is none.

    Attributes:
        query: bool (B, T). Which queries are real; the output carries it on.
        memory: bool (B, S). Which keys and values are real.
        pairs: bool, broadcastable to (B, T, S) or (B, H, T, S). Which query sees which key.
    """

    query: Any
    memory: Any
    pairs: Any

    def by_head(self):
        """bool, broadcastable to (B, H, T, S), or None; `pairs` has an axis of heads, or two."""
        memory = None if self.memory is None else self.memory[:, None, None, :]
        return combine_masks(memory, self.pairs)

    def by_pair(self):
        """bool, broadcastable to (B, T, S), or None."""
        memory = None if self.memory is None else self.memory[:, None, :]
        return combine_masks(memory, self.pairs)


class AttentionLayer(FormerCallNames, keras.layers.Layer):
    """Abstract: a layer that is called as Keras' attention layers are.

    Its output carries the mask of its first argument: the automatic one and those given by hand,
    combined.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def __call__(self, *args, **kwargs):
        if args and isinstance(args[0], list | tuple):
            raise ValueError(
                f"Expected tensors, as in {CALL}. Received: a {type(args[0]).__name__} of "
                f"{len(args[0])}"
            )
        return super().__call__(*args, **kwargs)

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; weights are there only where asked for."""
        return traced_spec(self, *args, **kwargs)


def memory_of(query, value, key):
    """Value and key of a call; without a value they are the query.

    Raises:
        ValueError: a key without a value.
    """
    if value is None and key is not None:
        raise ValueError(f"Expected a value with the key, as in {CALL}. Received: a key alone")
    value = query if value is None else value
    return value, value if key is None else key


def sequence_mask(inputs, **given):
    """The mask of a sequence: the automatic one and all that were given, bool (B, T) or None.

    Args:
        inputs: tensor (B, T, ...), which may carry a mask.
        **given: bool (B, T) or None, by the names that messages call them.

    Raises:
        ValueError: a mask of floats, or of another shape.
    """
    carried = backend.get_keras_mask(inputs)
    checked = [
        one if one is None or one is carried else as_mask(one, name, tuple(inputs.shape[:2]))
        for name, one in given.items()
    ]
    return combine_masks(carried, *checked)


def carry_mask(outputs, mask):
    """Outputs that carry a mask bool (B, T) to the next layer; as they are if it is None."""
    if mask is not None:
        backend.set_keras_mask(outputs, mask)
    return outputs


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
):
    """`Masks` of an attention's call: all that are given or carried must allow a position.

    Args:
        query: float (B, T, D), or (B, D) for a single query.
        value, key: float (B, S, ...), or None for self-attention.
        query_mask, mask: bool (B, T).
        value_mask, key_mask: bool (B, S).
        attention_mask: bool, broadcastable to (B, T, S); of a single query (B, S).
        use_causal_mask: bool.
        heads: int or None. H, where weights have an axis of heads.

    Raises:
        ValueError: a mask of floats, or of another shape; a causal mask with a single query.
    """
    single, itself = len(query.shape) == 2, value is None
    if single and use_causal_mask:
        raise ValueError(
            "Expected a query of shape (B, T, D) with use_causal_mask. "
            f"Received: query of shape {tuple(query.shape)}"
        )
    own = None if single else sequence_mask(query, query_mask=query_mask, mask=mask)
    value, key = memory_of(query, value, key)
    memory = combine_masks(
        sequence_mask(value, value_mask=value_mask),
        sequence_mask(key, key_mask=key_mask),
        own if itself else None,
    )
    length, size = (1 if single else query.shape[1]), key.shape[1]
    if attention_mask is not None:
        if single:
            attention_mask = ops.expand_dims(attention_mask, -2)
        attention_mask = as_attention_mask(attention_mask, query.shape[0], length, size, heads)
    causal = causal_mask(ops.shape(query)[1], ops.shape(key)[1]) if use_causal_mask else None
    return Masks(own, memory, combine_masks(attention_mask, causal))
