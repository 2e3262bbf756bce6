"""The fields of a record as named features, and back."""

import functools
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

IMAGE = "image"
"""Name of the feature with an encoded picture; the record's field is its path."""
TEXT, INTEGER, TEXTS, PICTURE, JSON = ("text", "integer", "texts", "picture", "json")
"""Kinds of features. JSON is any other field, as text."""
KIND_OF_TYPE = {str: TEXT, int: INTEGER, tuple[str, ...]: TEXTS, Path: PICTURE}


@dataclass(frozen=True)
class RecordFeatures:
    """How the records of a dataclass are stored, one feature for each field.

    Attributes:
        record: the dataclass; its fields are texts, numbers, at most one path of a picture, and
            tuples and named tuples of texts and numbers.
    """

    record: type

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each feature by name, in the order of the record's fields."""
        return {
            IMAGE if kind == PICTURE else name: kind
            for name, (_, kind) in _fields(self.record).items()
        }

    def values(self, record, leaves_out: str = "") -> dict[str, Any]:
        """The features of a record: bytes, integers and lists of bytes.

        Args:
            record: instance of the dataclass.
            leaves_out: name of a feature that is not made.

        Raises:
            ValueError: a field's value is not of the field's type, or cannot be stored.
        """
        values = {}
        for name, (_, kind) in _fields(self.record).items():
            value = getattr(record, name)
            feature = IMAGE if kind == PICTURE else name
            if feature == leaves_out:
                continue
            try:
                values[feature] = _feature(value, kind)
            except (TypeError, AttributeError) as error:
                raise ValueError(
                    f"Expected {name} of {self.record.__name__} as {kind}. "
                    f"Received: {type(value).__name__} {value!r:.80}"
                ) from error
        return values

    def restored(self, values: Mapping[str, Any], picture=None):
        """The record of some features; inverse of `values`.

        Args:
            values: features by name; of a picture none is needed.
            picture: what the record has as the path of its picture.
        """
        found = {}
        for name, (type_of_field, kind) in _fields(self.record).items():
            match kind:
                case "picture":
                    found[name] = picture
                case "integer":
                    found[name] = int(values[name])
                case "texts":
                    found[name] = tuple(_decoded(text) for text in values[name])
                case "text":
                    found[name] = _decoded(values[name])
                case _:
                    found[name] = _typed(json.loads(_decoded(values[name])), type_of_field)
        return self.record(**found)


@functools.lru_cache
def _fields(record) -> dict[str, tuple[Any, str]]:
    """Type and kind of each field of a dataclass, by name."""
    hints = typing.get_type_hints(record)
    names = [field.name for field in fields(record)]
    return {name: (hints[name], KIND_OF_TYPE.get(hints[name], JSON)) for name in names}


def _feature(value, kind):
    """The value of a field as a feature of some kind."""
    match kind:
        case "picture":
            return value.read_bytes()
        case "integer":
            return int(value)
        case "texts":
            return [_encoded(text) for text in value]
        case "text":
            return _encoded(value)
    return _encoded(json.dumps(_plain(value), ensure_ascii=False))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _plain(value):
    """A value as JSON has it; a named tuple is a list with the name of its class first."""
    if isinstance(value, tuple):
        items = [_plain(item) for item in value]
        return [type(value).__name__, *items] if hasattr(value, "_fields") else items
    return value


def _typed(value, kind):
    """A value of a type from JSON; inverse of `_plain`."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        named = {one.__name__: one for one in typing.get_args(kind)}
        kind = named.get(value[0]) if isinstance(value, list) else None
    if hasattr(kind, "_fields"):
        types_of_fields = typing.get_type_hints(kind)
        return kind(
            *(_typed(item, types_of_fields[name]) for name, item in zip(kind._fields, value[1:]))
        )
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_typed(item, of_item) for item, of_item in zip(value, kinds))
    return value
