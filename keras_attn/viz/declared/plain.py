"""Frozen dataclasses as plain values, and back."""

import reprlib
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar

INPUT, OUTPUT = "input", "output"
Input = Annotated[str, INPUT]
"""The name of an input of a signature."""
Output = Annotated[str, OUTPUT]
"""The name of an output of a signature; '' for none."""


@dataclass(frozen=True)
class Plain:
    """Abstract: a declaration whose fields are texts, flags and further declarations.

    Attributes:
        kind: name of the class among plain values.
    """

    kind: ClassVar[str]

    def names(self, mark: str) -> set[str]:
        """Names of the inputs, or of the outputs, that it is read from: mark INPUT or OUTPUT."""
        hints, named = typing.get_type_hints(type(self), include_extras=True), set()
        for name in _fields(self):
            value = getattr(self, name)
            if isinstance(value, Plain):
                named |= value.names(mark)
            elif mark in getattr(hints[name], "__metadata__", ()):
                named.add(value)
        return named - {""}

    def to_plain(self) -> dict[str, Any]:
        """The declaration as JSON types; fields with their default values are left out."""
        values = {name: getattr(self, name) for name in _fields(self)}
        given = {name: value for name, value in values.items() if value != _fields(self)[name]}
        nested = {
            name: value.to_plain() if isinstance(value, Plain) else value
            for name, value in given.items()
        }
        return {"kind": self.kind, **nested}


def from_plain(value: Any, kinds: Mapping[str, type[Plain]], parts: Mapping[str, type[Plain]]):
    """The declaration that `Plain.plain` made a value of.

    Args:
        value: of JSON types, perhaps by somebody else.
        kinds: classes that it may be of, by kind.
        parts: classes that its fields may be of.

    Raises:
        ValueError: no declaration of these kinds, or a field that is missing, unknown or of
            another type.
    """
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(
            f"Expected an object of kind {', '.join(kinds)}. Received: {reprlib.repr(value)}"
        )
    defaults, hints = _fields(kinds[kind]), typing.get_type_hints(kinds[kind])
    given = {key: field for key, field in value.items() if key != "kind"}
    needed = {name for name, default in defaults.items() if default is MISSING}
    if not needed <= given.keys() <= defaults.keys():
        raise ValueError(
            f"Expected the fields {', '.join(defaults)} of a {kind}. "
            f"Received: {', '.join(given) or 'none'}"
        )
    arguments = {}
    for name, field in given.items():
        if isinstance(field, dict) and parts:
            field = from_plain(field, parts, {})
        if field == "" and defaults[name] != "":
            raise ValueError(f"Expected a name as {name} of a {kind}. Received: an empty one")
        if not isinstance(field, hints[name]):
            raise ValueError(
                f"Expected {name} of a {kind} to be of another type. "
                f"Received: {reprlib.repr(field)}"
            )
        arguments[name] = field
    return kinds[kind](**arguments)


def _fields(declared):
    """Defaults of the fields of a declaration or of its class, by name."""
    return {field.name: field.default for field in fields(declared)}
