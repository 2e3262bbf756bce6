"""Declared matrices of attention: places that look at places."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keras_attn.viz.declared.axes import Axis, Names, Pieces
from keras_attn.viz.declared.declared_view import DeclaredView
from keras_attn.viz.declared.plain import Output
from keras_attn.viz.declared.weights import check_places, weights_of
from keras_attn.viz.labels import folded
from keras_attn.viz.views.token_view import TokenView


@dataclass(frozen=True)
class Matrix(DeclaredView):
    """Weights of rows that look at columns, or one weight for each column.

    Attributes:
        weights: float (T, S), or (n, T, S) of several answers, of which one is taken; without
            rows (S,).
        columns: `Axis`, what is looked at.
        rows: `Axis`, what looks; None for weights (S,).
        outlined: whether a frame shows, for each row, the columns that a local or hard attention
            saw.
        sideways: whether a figure has a row for each column, where long names are easier to read.

    Example:
        >>> from keras_attn.viz.declared import Matrix, Strings
        >>> view = Matrix("weights", Strings("words"), name="Weight of each word")
        >>> answer = {"weights": np.array([0.7, 0.3, 0]), "words": np.array([b"a", b"dog", b""])}
        >>> view.read(answer, {}).columns
        ('a', 'dog')
    """

    kind: ClassVar[str] = "matrix"
    weights: Output
    columns: Axis
    rows: Axis | None = None
    outlined: bool = False
    sideways: bool = False

    def read(self, answer, asked, index=0):
        weights = weights_of(answer, self.weights, (1,) if self.rows is None else (2, 3))
        weights = weights[index] if weights.ndim == 3 else np.atleast_2d(weights)
        rows, title = Names(("",), [[0]]), "weights"
        if self.rows is not None:
            rows, title = self.rows.read(answer, asked, len(weights), index), self.rows.title
        columns = self.columns.read(answer, asked, weights.shape[-1], index)
        return TokenView(
            self.name or self.weights,
            rows.names,
            columns.names,
            _in_names(self.weights, weights, rows, columns)[None, None],
            (title, self.columns.title),
            outlined=self.outlined,
            sideways=self.sideways,
        )


@dataclass(frozen=True)
class Heads(DeclaredView):
    """Weights of every layer and head.

    Attributes:
        weights: float (N, H, T, S).
        columns: `Axis`, what is looked at. Equal to the rows in self-attention, which can also be
            drawn for a word.
        rows: `Axis`, what looks.
    """

    kind: ClassVar[str] = "heads"
    weights: Output
    columns: Axis
    rows: Axis

    @property
    def follows_words(self):
        """Whether it can be drawn for one word."""
        return isinstance(self.rows, Pieces) and self.rows == self.columns

    def read(self, answer, asked, index=0):
        weights = weights_of(answer, self.weights, (4,))
        rows = self.rows.read(answer, asked, weights.shape[-2])
        columns = self.columns.read(answer, asked, weights.shape[-1])
        pieces, by_piece = (), None
        if isinstance(self.rows, Pieces) and self.follows_words:
            pieces = tuple(self.rows.pieces(answer, weights.shape[-2]))
            by_piece = weights[..., : len(pieces), : len(pieces)]
        return TokenView(
            self.name or self.weights,
            rows.names,
            columns.names,
            _in_names(self.weights, weights, rows, columns),
            (self.rows.title, self.columns.title),
            pieces=pieces,
            by_piece=by_piece,
        )


def _in_names(output, weights, rows, columns):
    """Weights (..., T, S) of the names of both axes.

    Raises:
        ValueError: names of places that the weights do not have.
    """
    check_places(output, weights, {-2: rows.places, -1: columns.places})
    return folded(weights, rows.places, columns.places)
