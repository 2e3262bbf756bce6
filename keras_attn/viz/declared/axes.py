"""What the rows or columns of declared weights stand for."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keras_attn.contracts import END_ID, END_PIECE, PAD_ID, START_PIECE
from keras_attn.viz.declared.plain import Input, Output, Plain
from keras_attn.viz.labels import in_words

STRINGS, NUMBERS = "OS", "iu"
"""Kinds of NumPy dtypes."""


class Names(NamedTuple):
    """What an axis of weights stands for.

    Attributes:
        names: tuple of strings.
        places: for each name, the places of the axis that belong to it.
    """

    names: tuple[str, ...]
    places: list[list[int]]


@dataclass(frozen=True)
class Axis(Plain, abc.ABC):
    """Abstract: an axis of declared weights."""

    @abc.abstractmethod
    def read(
        self, answer: Mapping[str, Any], asked: Mapping[str, Any], size: int, index: int = 0
    ) -> Names:
        """The names of an axis of `size` places; see `DeclaredView.read`."""


@dataclass(frozen=True)
class Strings(Axis):
    """An output with a string for each place, '' for padding.

    Attributes:
        output: string (S,), or (n, S) of several answers, of which one is taken.
        title: what the strings are.
    """

    kind: ClassVar[str] = "strings"
    output: Output
    title: str = ""

    def read(self, answer, asked, size, index=0):
        return _each(strings_of(answer, self.output, size, index))


@dataclass(frozen=True)
class Pieces(Axis):
    """An output with a piece of a word for each place, drawn word by word.

    A word that is looked at has the sum of its pieces' weights, one that looks their mean.

    Attributes:
        output: as of `Strings`.
        title: what the words are.
        tokens: output with their token ids, int32 of the same shape, which mark the end; '' if
            the pieces themselves mark it.
    """

    kind: ClassVar[str] = "pieces"
    output: Output
    title: str = ""
    tokens: Output = ""

    def pieces(self, answer: Mapping[str, Any], size: int, index: int = 0) -> list[str]:
        """The pieces, the end among them; see `strings_of`."""
        if not self.tokens:
            return strings_of(answer, self.output, size, index)
        tokens = _row(answer, self.tokens, NUMBERS, size, index)
        pieces = _row(answer, self.output, STRINGS, size, index)
        return [
            END_PIECE if token == END_ID else piece.decode()
            for token, piece in zip(_before_padding(self.tokens, tokens, PAD_ID), pieces)
        ]

    def read(self, answer, asked, size, index=0):
        return Names(*in_words(self.pieces(answer, size, index)))


@dataclass(frozen=True)
class Before(Axis):
    """What a decoder has read before each of its pieces: START_PIECE, then all but the last.

    Attributes:
        output: as of `Strings`, with the pieces.
        title: what they are.
        words: whether they are pieces of words, see `Pieces`.
    """

    kind: ClassVar[str] = "before"
    output: Output
    title: str = ""
    words: bool = True

    def read(self, answer, asked, size, index=0):
        pieces = [START_PIECE, *strings_of(answer, self.output, size, index)[:-1]]
        return Names(*in_words(pieces)) if self.words else _each(pieces)


@dataclass(frozen=True)
class Requested(Axis):
    """The parts of an input, such as the facts of a set.

    Attributes:
        input: name of the input.
        title: what its parts are.
        groups: output with the number of each place's part, int32 (S,), from 1; '': each part has a
            place of its own.
        first: name of a place before all parts; '' for none.
    """

    kind: ClassVar[str] = "requested"
    input: Input
    title: str = ""
    groups: Output = ""
    first: str = ""

    def read(self, answer, asked, size, index=0):
        if not isinstance(asked[self.input], list):
            kind = "a text" if isinstance(asked[self.input], str) else "a picture"
            raise ValueError(f"Expected an input {self.input} of several parts. Received: {kind}")
        names = tuple(asked[self.input])
        if not self.groups:
            return _each((self.first, *names) if self.first else names)
        numbers = _row(answer, self.groups, NUMBERS, size)
        places = [np.flatnonzero(numbers == number + 1).tolist() for number in range(len(names))]
        return Names(names, places)


@dataclass(frozen=True)
class Numbered(Axis):
    """Places that have numbers from 1.

    Attributes:
        name: of one of them, such as "hop".
        title: what they are, such as "hops".
    """

    kind: ClassVar[str] = "numbered"
    name: str
    title: str = ""

    def read(self, answer, asked, size, index=0):
        return _each([f"{self.name} {number}" for number in range(1, size + 1)])


def strings_of(
    answer: Mapping[str, Any], output: str, size: int | None = None, index: int = 0
) -> list[str]:
    """The strings of an output before its padding; of several answers, of one.

    Args:
        answer: of a signature, for one request, as NumPy arrays by name.
        output: its name.
        size: how many there are, padding included; None for any number.
        index: which of several answers, from 0.

    Raises:
        ValueError: another number, padding before a string, or an output of another kind.
    """
    pieces = _row(answer, output, STRINGS, size, index)
    return [piece.decode() for piece in _before_padding(output, pieces, b"")]


def _before_padding(output, values, padding):
    """The values before their padding, which must be last."""
    real = values != padding
    count = int(np.sum(real))
    if not np.all(real[:count]):
        raise ValueError(f"Expected the padding of {output} at its end. Received: padding before")
    return values[:count]


def _row(answer, output, kinds, size=None, index=0):
    """An output (S,); the row of an answer in (n, S).

    Raises:
        ValueError: other axes, another size, or values whose NumPy dtype is none of these kinds.
    """
    values = np.asarray(answer[output])
    several = values.ndim == 2 and len(values)
    if not (values.ndim == 1 or several) or values.dtype.kind not in kinds:
        expected = "strings" if kinds == STRINGS else "whole numbers"
        raise ValueError(
            f"Expected {expected} of 1 or 2 axes as {output}. "
            f"Received: {values.dtype} of shape {values.shape}"
        )
    values = values[index] if several else values
    if size is not None and len(values) != size:
        raise ValueError(
            f"Expected {output} for each of the {size} places of the weights. "
            f"Received: shape {values.shape}"
        )
    return values


def _each(names):
    """A place for each name."""
    return Names(tuple(names), [[place] for place in range(len(names))])


AXES = {axis.kind: axis for axis in (Strings, Pieces, Before, Requested, Numbered)}
"""Classes by kind."""
