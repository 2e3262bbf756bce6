"""Names of arguments that have changed, and the error that names the new one.

Arguments are named as in Keras and keras-hub. A former name raises at once, instead of Python's
message about missing arguments.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping

CONSTRUCTOR: Mapping[str, tuple[str, ...]] = {
    "heads": ("num_heads",),
    "layers": ("num_layers",),
    "encoder_layers": ("num_encoder_layers",),
    "classes": ("num_classes",),
    "model_units": ("hidden_dim",),
    "reader": ("attention",),
    "hidden_units": ("intermediate_dim", "hidden_dim"),
    "query_units": ("query_dim",),
    "key_units": ("key_dim",),
    "value_units": ("value_dim",),
    "output_units": ("output_shape",),
    "embedding_units": ("embedding_dim",),
    "feature_units": ("feature_dim",),
    "attention_units": ("attention_dim",),
    "vision_layers": ("num_vision_layers",),
    "representation_units": ("representation_dim",),
    "weight_dropout": ("attention_dropout",),
    "attention_bias": ("use_bias",),
    "norm": ("normalize_first",),
    "max_length": ("max_sequence_length",),
    "length": ("sequence_length",),
    "units": ("hidden_dim", "output_dim"),
    "vocabulary_size": ("input_dim",),
}
"""Former names of constructors' arguments and configs' fields; of several new names, the first that
the class has."""

CALL: Mapping[str, str] = {
    "keys": "value (and key, where keys and values differ)",
    "values": "value (and key, where keys and values differ)",
    "keys_mask": "value_mask, or mask in self-attention",
    "causal": "use_causal_mask",
    "offset": "start_index",
}
"""Former names of arguments of calls."""


class CheckedConfig:
    """Abstract: a dataclass whose constructor answers former names with the new ones."""

    def __new__(cls, *args, **kwargs):
        check_former_names(cls, kwargs)
        return super().__new__(cls)


def check_former_names(cls: type, given: Iterable[str]) -> None:
    """Raises ValueError for an argument of a constructor that has another name now.

    Example:
        >>> from keras_attn.layers import MultiHeadAttention
        >>> MultiHeadAttention(heads=2, key_dim=3)
        Traceback (most recent call last):
            ...
        ValueError: Expected num_heads in MultiHeadAttention(...). Received: heads, its former name
    """
    constructors = [vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)]
    taken = {name for constructor in constructors for name in _parameters(constructor)}
    for name in given:
        if name in taken:
            continue
        if name == "causal" and "use_causal_mask" in _parameters(getattr(cls, "call", len)):
            raise ValueError(
                f"Expected use_causal_mask=True in the call of {cls.__name__}. "
                f"Received: causal in its constructor"
            )
        for new in CONSTRUCTOR.get(name, ()):
            if new in taken:
                raise ValueError(
                    f"Expected {new} in {cls.__name__}(...). Received: {name}, its former name"
                )


def check_call_names(name: str, call: Callable, given: Iterable[str]) -> None:
    """Raises ValueError for an argument of a call that has another name now."""
    former = [argument for argument in given if argument in CALL]
    for old in former:
        if old not in _parameters(call):
            raise ValueError(f"Expected {CALL[old]} in the call of {name}. Received: {old}")


def _parameters(function):
    return inspect.signature(function).parameters
