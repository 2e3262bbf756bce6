"""Base of all attention layers: Keras' call, masks and input checks."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops
from keras.src import backend  # Keras' masks have no public functions.

from keras_attn.former_names import FormerCallNames
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.ops.masks import (
    as_attention_mask,
    as_mask,
    causal_mask,
    combine_masks,
    zero_masked,
)

CALL = "layer(query, value=None, key=None)"


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


class AttentionLayer(FormerCallNames, keras.layers.Layer):
    """Abstract: a layer with the call of Keras' attention layers.

    Subclasses read 0 at masked places, see `ops.zero_masked`, so that nothing else there reaches
    outputs or gradients. A key that some query may attend to is not masked. The output carries the
    mask of the first argument: the automatic mask combined with explicit ones.
    """

    ranks: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "query": (3,),
        "inputs": (3,),
        "value": (3,),
        "key": (3,),
    }
    """How many axes arguments of the call may have."""
    sequences: ClassVar[bool] = False
    """Whether each example of the value may have several sequences of queries."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def __call__(self, *args, **kwargs):
        names = list(inspect.signature(self.call).parameters)
        arguments = {**dict(zip(names, args)), **kwargs}
        first = arguments.get(names[0])
        if isinstance(first, list | tuple):
            expected = CALL if names[1] == "value" else f"layer({names[0]})"
            raise ValueError(
                f"Expected tensors, as in {expected}. Received: a {type(first).__name__} of "
                f"{len(first)}"
            )
        self._check_tensors(arguments)
        if "key" in names and _is_self_attention(arguments):  # The same as without the value.
            arguments |= {"value": None, "key": None}
            return super().__call__(
                first, **{k: tensor for k, tensor in arguments.items() if k != "query"}
            )
        return super().__call__(*args, **kwargs)

    def _check_tensors(self, arguments):
        """Raises ValueError for wrong shapes before weights are created for them."""
        shapes = {}
        for name, ranks in self.ranks.items():
            tensor = arguments.get(name)
            if not hasattr(tensor, "shape"):
                continue
            shapes[name] = shape = tuple(tensor.shape)
            masked = keras.backend.standardize_dtype(tensor.dtype) == "bool"
            if masked or len(shape) not in ranks:
                kind = "a mask, to be passed as mask=…" if masked else f"shape={shape}"
                raise ValueError(
                    f"Expected {name} of {' or '.join(map(str, ranks))} axes. Received: {kind}"
                )
        _check_batches(shapes, self.sequences)

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)


def _is_self_attention(arguments):
    """Whether the query is also the value."""
    query, value, key = (arguments.get(name) for name in ("query", "value", "key"))
    return query is not None and value is query and (key is None or key is query)


def _check_batches(shapes, sequences):
    """Raises ValueError unless the static batches, and lengths of value and key, agree."""
    value, key = shapes.get("value"), shapes.get("key")
    query = shapes.get("query") or shapes.get("tokens")
    if value and key and not _agree(value[:2], key[:2]):
        raise ValueError(
            f"Expected value and key of equal batch and length. Received: shapes {value} and {key}"
        )
    if not (query and value) or None in (query[0], value[0]):
        return
    if sequences and value[0] and query[0] % value[0] == 0:
        return
    if query[0] not in (1, value[0]):
        several = ", or several times as many," if sequences else ""
        raise ValueError(
            f"Expected as many queries{several} as values in a batch. "
            f"Received: {query[0]} and {value[0]}"
        )


def _agree(first, other):
    return all(None in pair or len({*pair}) == 1 for pair in zip(first, other))


def memory_of(query, value, key):
    """Value and key of a call; by default the query.

    Raises:
        ValueError: a key without a value.
    """
    if value is None and key is not None:
        raise ValueError(f"Expected a value with the key, as in {CALL}. Received: a key alone")
    value = query if value is None else value
    return value, value if key is None else key


def sequence_mask(inputs, **given):
    """The mask of a sequence, the automatic and all explicit ones combined: bool (B, T) or None.

    Args:
        inputs: tensor (B, T, ...), which may carry a mask.
        **given: bool (B, T) or None, by their names in messages.

    Raises:
        ValueError: a mask of floats, or of another shape.
    """
    carried = backend.get_keras_mask(inputs)
    checked = [
        mask if mask is None or mask is carried else as_mask(mask, name, tuple(inputs.shape[:2]))
        for name, mask in given.items()
    ]
    return combine_masks(carried, *checked)


def carry_mask(outputs, mask):
    """Outputs that carry a mask bool (B, T) to the next layer; unchanged if it is None."""
    if mask is not None:
        backend.set_keras_mask(outputs, mask)
    return outputs


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

    Raises:
        ValueError: a mask of floats, or of another shape; a causal mask with a single query.
    """
    single, itself = len(query.shape) == 2, value is None
    if single and use_causal_mask:
        raise ValueError(
            "Expected a query of shape (B, T, D) with use_causal_mask. "
            f"Received: query of shape {tuple(query.shape)}"
        )
    own = query_mask_of(query, query_mask, mask)
    value, key = memory_of(query, value, key)
    length, size = (1 if single else query.shape[1]), key.shape[1]
    if attention_mask is not None:
        if single:
            attention_mask = ops.expand_dims(attention_mask, -2)
        attention_mask = as_attention_mask(attention_mask, query.shape[0], length, size, heads)
    causal = causal_mask(ops.shape(query)[1], ops.shape(key)[1]) if use_causal_mask else None
    pairs = combine_masks(attention_mask, causal)
    if itself and value_mask is None and key_mask is None and attention_mask is None:
        return Masks(own, own, pairs)  # Under a causal mask every key has a query.
    memory = combine_masks(
        sequence_mask(value, value_mask=value_mask),
        sequence_mask(key, key_mask=key_mask),
        own if itself else None,
        _attended(pairs),
    )
    return Masks(own, memory, pairs)


def _attended(pairs):
    """Keys that some query may attend to, broadcastable to (B, S), of a mask of pairs or None."""
    if pairs is None:
        return None
    attended = ops.any(pairs, axis=-2)
    if len(attended.shape) == 3:
        return ops.any(attended, axis=1)  # By some head.
    return attended if len(attended.shape) == 2 else attended[None]
