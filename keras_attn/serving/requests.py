"""Requests to the signatures of a local or served model, without TensorFlow."""

import abc
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_attn.contracts import ANOTHER_REQUEST, ERROR

MOST_SENT = 3
"""How often a row may be the first of a request and still be deferred."""


class Requests(abc.ABC):
    """Abstract: calls a model's signatures in batches; subclasses answer one batch."""

    def ask(
        self, signature: str, /, *, batch: int = 32, **inputs: Sequence[str | bytes]
    ) -> list[dict]:
        """Answers of a signature, one dict of arrays for each row of the inputs.

        Padded outputs have the length of the longest in their batch. Pictures that the server
        wants in another request, because those before them have all the pixels that it decodes for
        one, are sent again.

        Args:
            signature: name, such as "serving_default" or "score".
            batch: int > 0. Batch size.
            inputs: the signature's inputs by name, lists of equal length, of strings or of arrays
                of strings.

        Raises:
            ValueError: batch < 1, an input that is not a list, no inputs or inputs of different
                lengths, an answer without outputs or with a different number of rows, or an
                unknown signature or input.

        Example:
            >>> class Lengths(Requests):
            ...     def _answer(self, signature, chunk):
            ...         return {signature: [len(source) for source in chunk["source"]]}
            >>> Lengths().ask("length", source=["seven", "two"])
            [{'length': 5}, {'length': 3}]
        """
        if not isinstance(batch, int) or batch < 1:
            raise ValueError(f"Expected batch >= 1. Received: batch={batch!r}")
        for key, values in inputs.items():
            if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
                raise ValueError(f"Expected a list for {key}. Received: {values!r:.80}")
        counts = {key: len(values) for key, values in inputs.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(f"Expected inputs of equal length. Received lengths: {counts}")
        answers: dict[int, dict] = {}
        (count,) = set(counts.values())
        waiting = list(range(count))
        sent: Counter[int] = Counter()
        while waiting:
            places, waiting = waiting[:batch], waiting[batch:]
            chunk = {key: [values[place] for place in places] for key, values in inputs.items()}
            arrays, rows = self._answer(signature, chunk), len(places)
            names = sorted(answers[min(answers)] if answers else arrays)
            if not names or sorted(arrays) != names:
                expected = ", ".join(names) or "one or more"
                raise ValueError(f"Expected outputs {expected}. Received: {sorted(arrays)}")
            for key, value in arrays.items():
                if np.shape(value)[:1] != (rows,):
                    raise ValueError(f"Expected {rows} rows of {key}. Received: {value!r:.80}")
            for row, place in enumerate(places):
                answers[place] = _Row({key: value[row] for key, value in arrays.items()}, signature)
            sent.update(places[:1])  # First in a request, a row is deferred by others' requests.
            again = [place for place in places if _is_deferred(answers[place])]
            waiting = [place for place in again if sent[place] < MOST_SENT] + waiting
        return [answers[place] for place in range(count)]

    @abc.abstractmethod
    def _answer(self, signature, chunk):
        """Answers one batch: lists of bytes or str to arrays (B, ...)."""


class _Row(dict):
    """The outputs of a signature for one row, by name."""

    def __init__(self, outputs, signature):
        super().__init__(outputs)
        self.signature = signature

    def __missing__(self, name):
        outputs = ", ".join(self)
        raise ValueError(f"Expected an output {name!r} of {self.signature}. Received: {outputs}")


def joined(values: Sequence[Any]) -> Any:
    """The rows of an input as one batch; arrays of strings are padded with '' to the largest.

    Args:
        values: strings, or arrays of strings of equal rank; or a batch, which stays as it is.

    Example:
        >>> joined([[b"a"], [b"b", b"c"]]).tolist()
        [[b'a', b''], [b'b', b'c']]
    """
    if isinstance(values, np.ndarray) or not values or isinstance(values[0], str | bytes):
        return values
    shape = np.max([np.shape(value) for value in values], axis=0)
    batch = np.full((len(values), *shape), b"", object)
    for row, value in enumerate(values):
        inside = tuple(slice(size) for size in np.shape(value))
        batch[row][inside] = np.array(value, object)  # An array of bytes would drop a last NUL.
    return batch


def _is_deferred(answer):
    """Whether the server wants this row in another request."""
    error = answer.get(ERROR, "")
    text = error.decode(errors="replace") if isinstance(error, bytes) else str(error)
    return text.endswith(ANOTHER_REQUEST)
