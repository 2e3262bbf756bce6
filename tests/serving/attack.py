"""Malformed rows among valid ones, and malformed requests, put to a model; what comes of it."""

import collections
import re
from typing import Any

import numpy as np

from keras_attn.contracts import ERROR
from keras_attn_pipelines.saved.servable import Servable
from tests.serving.malformations import malformed_request, malformed_row

WHOLE = 0.2
"""Share of requests that are malformed as a whole."""
TOLERANCE = 1e-3


class Attack:
    """Asks a model about malformed rows, and counts what comes of it.

    Args:
        servable: the model.
        rows: dict from signature to valid rows, see `valid_rows`.
        seed: int.

    Raises:
        ValueError: a signature that answers none of its valid rows.
    """

    def __init__(self, servable: Servable, rows: dict[str, list[dict[str, Any]]], seed: int = 0):
        self._servable, self._random = servable, np.random.default_rng(seed)
        self._rows = {name: self._answered(name, valid) for name, valid in rows.items()}
        self.counts: collections.Counter[str] = collections.Counter()
        self.reasons: collections.Counter[str] = collections.Counter()

    def request(self) -> None:
        """Asks once."""
        signature = sorted(self._rows)[self._random.integers(len(self._rows))]
        self.counts["requests"] += 1
        if self._random.random() < WHOLE:
            self._as_a_whole(signature)
        else:
            self._among_others(signature)

    def _answered(self, signature, rows):
        """Pairs of a row and its answer alone, of rows that have one."""
        pairs = [(row, first(self._servable.outputs(signature, columns([row])))) for row in rows]
        if not (answered := [(row, answer) for row, answer in pairs if not answer[ERROR]]):
            raise ValueError(
                f"Expected a valid row of {signature}. Received: {pairs[0][1][ERROR]!r}"
            )
        return answered

    def _as_a_whole(self, signature):
        rows = [row for row, _ in self._rows[signature][:3]]
        asked = malformed_request(self._random, signature, columns(rows))
        try:
            self._servable.outputs(*asked)
        except Exception as error:  # Whatever it is, the process is still there.
            self.counts["refused"] += 1
            self.reasons[generic(f"{type(error).__name__}: {error}")] += 1

    def _among_others(self, signature):
        random, pairs = self._random, self._rows[signature]
        valid = [pairs[random.integers(len(pairs))] for _ in range(random.integers(1, 4))]
        bad = [malformed_row(random, pairs[random.integers(len(pairs))][0])]
        bad += [malformed_row(random, bad[0]) for _ in range(random.integers(3))]
        mixed = [*valid, *((row, None) for row in bad)]
        mixed = [mixed[place] for place in random.permutation(len(mixed))]
        outputs = self._servable.outputs(signature, columns([row for row, _ in mixed]))
        for place, (_, alone) in enumerate(mixed):
            answer = {key: value[place] for key, value in outputs.items()}
            if alone is not None:
                self.counts["valid"] += 1
                self.counts["wrong"] += not same(answer, alone)
            else:
                self.counts["malformed"] += 1
                self.counts["reasoned"] += bool(answer[ERROR])
                kind = answer[ERROR].decode(errors="replace").partition(": ")[0]
                self.reasons[generic(kind)] += 1


def columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Rows as the inputs of a signature."""
    return {key: stacked([row[key] for row in rows]) for key in rows[0]}


def stacked(values):
    """Values of bytes, or arrays of them in one shape, as an array of objects."""
    array = np.empty((len(values), *np.shape(values[0])), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def first(outputs):
    """The first row of outputs."""
    return {key: value[0] for key, value in outputs.items()}


def same(answer: dict[str, Any], alone: dict[str, Any]) -> bool:
    """Whether an answer is that of the row alone, but for padding and rounding."""
    return all(_equal(np.asarray(answer[key]), np.asarray(alone[key])) for key in alone)


def _equal(value, other):
    shared = tuple(slice(min(sizes)) for sizes in zip(value.shape, other.shape))
    if value.dtype.kind != "f":
        return bool(np.array_equal(value[shared], other[shared]))
    return bool(np.allclose(value[shared], other[shared], atol=TOLERANCE, rtol=TOLERANCE))


def generic(reason: str) -> str:
    """A reason without the numbers and the names in it, so that equal ones can be counted."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", "…", re.sub(r"\d+", "N", reason.split("\n")[0]))[:160]
