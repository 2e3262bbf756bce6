"""Base of layers over sequences: masks, and checks of what is called."""

from collections.abc import Mapping
from typing import ClassVar

import keras
from keras.src import backend  # Keras' masks have no public functions.

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.ops.masks import as_mask, combine_masks

CALL = "layer(query, value=None, key=None)"


class MaskedLayer(BaseLayer):
    """Abstract: a layer over sequences with padding.

    Subclasses read 0 at masked places, see `ops.zero_masked`, so that nothing else there reaches
    outputs or gradients. The output carries the mask of the first argument: the automatic mask
    combined with explicit ones.
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
        names = self.call_signature_parameters
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

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)

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
                if not masked and len(shape) == 4:
                    kind += "; keras.layers.Reshape((-1, D)) flattens a grid of width D"
                raise ValueError(
                    f"Expected {name} of {' or '.join(map(str, ranks))} axes. Received: {kind}"
                )
        _check_batches(shapes, self.sequences)


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
