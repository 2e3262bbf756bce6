"""Protocol buffer messages described by their fields, for readers without the generated code."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keras_attn.extras import extra

with extra("text"):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT64, BOOL, STRING, MESSAGE, ENUM = 3, 8, 9, 11, 14
"""Types of fields, as in descriptor.proto."""
ONE, MANY, BY_NAME = range(3)
"""What a field holds: a value, a list, or a map from strings to values."""


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        number: int > 0.
        kind: one of the types above, or the name of another message or enum.
        holds: ONE, MANY or BY_NAME.
    """

    number: int
    kind: int | str
    holds: int = ONE


def message_classes(
    messages: Mapping[str, Mapping[str, Field]], enums: Mapping[str, Mapping[str, int]]
) -> dict[str, Any]:
    """Classes of messages, which keep fields that are not described, but do not show them.

    Args:
        messages: dict from a message's name to its `Field`s by name.
        enums: dict from an enum's name to its numbers by name, the first of them 0.

    Example:
        >>> classes = message_classes({"Size": {"rows": Field(1, INT64)}}, {})
        >>> classes["Size"](rows=3).SerializeToString()
        b'\\x08\\x03'
    """
    file = descriptor_pb2.FileDescriptorProto(name="all.proto", package="all", syntax="proto3")
    for name, numbers in enums.items():
        enum = file.enum_type.add(name=name)
        for key, number in numbers.items():
            enum.value.add(name=key, number=number)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for key, (number, kind, holds) in fields.items():
            field = message.field.add(name=key, number=number, label=1 if holds == ONE else 3)
            if holds == BY_NAME:
                entry = message.nested_type.add(name=f"{key.title().replace('_', '')}Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, label=1, type=STRING)
                field.type, field.type_name = MESSAGE, f".all.{name}.{entry.name}"
                field = entry.field.add(name="value", number=2, label=1)
            if isinstance(kind, str):
                field.type_name, kind = f".all.{kind}", ENUM if kind in enums else MESSAGE
            field.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"all.{name}"))
        for name in messages
    }
