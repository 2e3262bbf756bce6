"""A service from a function, for user-defined models."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_attn.contracts import ERROR, LABEL_SCORES, LABELS, SCORE, TEXT
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.service import Service

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
KINDS = {
    ERROR: (tf.string, 1),
    TEXT: (tf.string, 2),
    SCORE: (tf.float32, 2),
    LABELS: (tf.string, 2),
    LABEL_SCORES: (tf.float32, 2),
}
"""Types and numbers of axes of answers that `keras_attn.load` reads."""


class FunctionService(Service):
    """A Keras model behind a function from strings to named answers.

    The signature `explain` is the function, or another of the same inputs; `serving_default`
    returns some of the function's answers.

    Args:
        model: built Keras model.
        vocabularies: dict of the vocabularies that the function uses, by the names of their
            folders.
        function: its parameters name the inputs, string tensors (B,); it answers with a dict of
            tensors (B, …), ERROR string (B,) among them.
        served: names of the answers of `serving_default`, beside ERROR.
        views: declared views and notes of the answers, see `keras_attn.viz.declared`; the first is
            what `explain` draws.
        examples: bytes that can be answered, by the name of an input; b"a" for others.
        notes: further metadata of JSON types, such as SCORE_UNIT; "n_best" is the number of texts
            or labels of each answer, if there are several.
        explained: function of the signature `explain`, of the same inputs; None: `function`.

    Raises:
        ValueError: a function without positional parameters, or with others; no names as `served`;
            an example of no input; and, when it is asked, answers of another type or shape.

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
        views=(),
        examples: Mapping[str, bytes] | None = None,
        notes: Mapping[str, Any] | None = None,
        explained: Callable[..., Mapping[str, Any]] | None = None,
    ):
        super().__init__(model, vocabularies, views)
        parameters = inspect.signature(function).parameters
        if not parameters or any(given.kind not in POSITIONAL for given in parameters.values()):
            raise ValueError(
                "Expected a function of one or more positional parameters, its inputs. "
                f"Received: {function.__name__}({', '.join(map(str, parameters.values()))})"
            )
        if isinstance(served, str) or not served:
            raise ValueError(f"Expected a list of names as served. Received: {served!r}")
        if unknown := sorted(set(examples or {}) - set(parameters)):
            raise ValueError(
                f"Expected examples of {', '.join(parameters)}. Received: {', '.join(unknown)}"
            )
        self._function, self._served = function, (*served, ERROR)
        self._explained = function if explained is None else explained
        self._examples, self._notes = dict(examples or {}), dict(notes or {})

    @property
    def inputs(self):
        return {
            name: (tf.TensorSpec((None,), tf.string, name=name), self._examples.get(name, b"a"))
            for name in inspect.signature(self._function).parameters
        }

    def functions(self):
        names = list(self.inputs)
        return {"serving_default": (self.answer, names), "explain": (self.explain, names)}

    def metadata(self):
        return self._notes

    @accepts_empty_batch
    def answer(self, *inputs):
        """The answers of `serving_default` to strings (B,), one tensor for each input."""
        answer = _named(self._function(*inputs))
        if missing := [name for name in self._served if name not in answer]:
            raise ValueError(
                f"Expected answers {', '.join(self._served)}. Received: none named {missing[0]!r}"
            )
        return {name: answer[name] for name in self._served}

    @accepts_empty_batch
    def explain(self, *inputs):
        """All answers to strings (B,), one tensor for each input."""
        return _named(self._explained(*inputs))


def _named(answer):
    """A function's answers as tensors by name."""
    if not isinstance(answer, Mapping) or ERROR not in answer:
        raise ValueError(
            f"Expected a dict of tensors from the function, {ERROR!r} among them. "
            f"Received: {answer!r:.80}"
        )
    return {name: _checked(name, value) for name, value in answer.items()}


def _checked(name, value):
    """An answer as a tensor (B, ...), of the type and the axes that its name stands for."""
    try:
        tensor = tf.convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected a tensor as answer {name!r}. Received: {error!s:.80}") from None
    dtype, rank = KINDS.get(name, (tensor.dtype, tensor.shape.rank))
    if tensor.dtype != dtype or tensor.shape.rank not in (rank, None) or tensor.shape.rank == 0:
        axes = "one or more" if rank == 0 else rank
        raise ValueError(
            f"Expected the answer {name!r} to be {dtype.name} of {axes} axes, the batch first. "
            f"Received: {tensor.dtype.name} of shape {tensor.shape}"
        )
    return tensor
