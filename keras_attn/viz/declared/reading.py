"""Declared views from the metadata of a SavedModel."""

import reprlib
from collections.abc import Iterable
from typing import Any

from keras_attn.viz.declared.axes import AXES
from keras_attn.viz.declared.matrices import Heads, Matrix
from keras_attn.viz.declared.notes import Note
from keras_attn.viz.declared.pictures import PictureMap, Samples
from keras_attn.viz.declared.plain import Plain, from_plain
from keras_attn.viz.declared.texts import ShadedText, Tracks, Tree

KINDS: dict[str, type[Plain]] = {
    kind.kind: kind for kind in (Matrix, Heads, PictureMap, Samples, Tree, Tracks, ShadedText, Note)
}
"""Classes by kind."""


def read_views(values: Any) -> list[Plain]:
    """Declared views, `DeclaredView`s and `Note`s, from plain values.

    Raises:
        ValueError: anything else.
    """
    if not isinstance(values, list):
        raise ValueError(f"Expected a list of views. Received: {reprlib.repr(values)}")
    return [from_plain(value, KINDS, AXES) for value in values]


def checked_views(views: Any) -> tuple[Plain, ...]:
    """Declared views that can be stored, and read as they are.

    Raises:
        ValueError: anything else.
    """
    given = tuple(views) if isinstance(views, Iterable) else (None,)
    if not all(isinstance(view, tuple(KINDS.values())) for view in given):
        raise ValueError(f"Expected a list of declared views. Received: {reprlib.repr(views)}")
    read_views([view.to_plain() for view in given])
    return given
