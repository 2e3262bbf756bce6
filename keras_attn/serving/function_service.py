"""A service from a function, for user-defined models."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from keras_attn.contracts import ERROR


class FunctionService(tf.Module):
    """A Keras model behind a function from strings to named answers.

    The signature `explain` is the function; `serving_default` returns some of its answers.

    Args:
        model: built Keras model.
        vocabularies: dict of the vocabularies that the function uses, by the names of their
            folders.
        function: its parameters name the inputs, string tensors (B,); it answers with a dict of
            tensors (B, …), ERROR string (B,) among them.
        served: names of the answers of `serving_default`, beside ERROR.
        drawn: answers that `explain` of the command line draws: a dict from the name of each, float
            (B, S), to that of what its columns stand for, string (B, S); of a matrix (B, T, S), to
            a tuple of the names of its rows and columns.

    Example:
        >>> import keras
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> def echo(source):
        ...     return {"text": source[:, None], "error": tf.zeros_like(source)}
        >>> FunctionService(model, {}, echo, served=["text"]).requests(1)
        {'serving_default': {'source': [b'a']}, 'explain': {'source': [b'a']}}
    """

    def __init__(
        self,
        model,
        vocabularies: Mapping[str, Any],
        function: Callable[..., Mapping[str, Any]],
        served: Sequence[str],
        drawn: Mapping[str, str | tuple[str, str]] | None = None,
    ):
        super().__init__()
        self.model, self._vocabularies = model, dict(vocabularies)
        self._function, self._served = function, (*served, ERROR)
        axes = {
            key: (axes,) if isinstance(axes, str) else axes for key, axes in (drawn or {}).items()
        }
        self._drawn = {name: list(names) for name, names in axes.items()}

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        inputs = [tf.TensorSpec((None,), tf.string, name=name) for name in self._inputs()]

        @functools.wraps(self._function)
        def served(*arguments):
            answer = self._function(*arguments)
            return {name: answer[name] for name in self._served}

        return {"serving_default": (served, inputs), "explain": (self._function, inputs)}

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        inputs = {name: [b"a"] * count for name in self._inputs()}
        return {"serving_default": inputs, "explain": inputs}

    def tokenizers(self):
        """dict from folder name to vocabulary."""
        return self._vocabularies

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        return {"drawn": self._drawn} if self._drawn else {}

    def _inputs(self):
        return list(inspect.signature(self._function).parameters)
