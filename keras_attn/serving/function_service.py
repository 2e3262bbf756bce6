"""A service made of functions, for a model of one's own."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf


class FunctionService(tf.Module):
    """A Keras model behind functions of string tensors, each of which becomes a signature.

    Args:
        model: built Keras model.
        vocabularies: dict of what the functions read text with, by the names of their folders.
        functions: dict of functions by the names of their signatures, "serving_default" among them.
            A function's parameters name its inputs, string (B,); it answers with a dict of tensors
            (B, …), `contracts.ERROR` among them.
        shown: what `explain` has to be drawn: a dict with the names of an output "weights", float
            (B, S) or (B, T, S), and of string outputs "columns" (B, S) and, of two axes, "rows"
            (B, T).

    Raises:
        ValueError: no function "serving_default".

    Example:
        >>> import keras
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> def echo(source):
        ...     return {"text": source[:, None], "error": tf.zeros_like(source)}
        >>> FunctionService(model, {}, {"serving_default": echo}).requests(1)
        {'serving_default': {'source': [b'a']}}
    """

    def __init__(
        self,
        model,
        vocabularies: Mapping[str, Any],
        functions: Mapping[str, Callable],
        shown: Sequence[Mapping[str, str]] = (),
    ):
        super().__init__()
        if "serving_default" not in functions:
            raise ValueError(
                f"Expected a function serving_default. Received: {', '.join(functions) or 'none'}"
            )
        self.model, self._vocabularies = model, dict(vocabularies)
        self._functions, self._shown = dict(functions), [dict(outputs) for outputs in shown]

    def signatures(self):
        """What is exported: dict from name to a function and its `TensorSpec`s."""
        return {
            name: (
                function,
                [tf.TensorSpec((None,), tf.string, name=key) for key in _inputs(function)],
            )
            for name, function in self._functions.items()
        }

    def requests(self, count):
        """Requests that warm a server up: dict from signature to inputs, `count` of each."""
        return {
            name: {key: [b"a"] * count for key in _inputs(function)}
            for name, function in self._functions.items()
        }

    def tokenizers(self):
        """dict from the name of its folder to each vocabulary."""
        return self._vocabularies

    def metadata(self):
        """What the service is, beside its model, of types that JSON has."""
        return {"shown": self._shown} if self._shown else {}


def _inputs(function):
    return list(inspect.signature(function).parameters)
