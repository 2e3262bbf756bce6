"""Fields of an experiment's parts, each declared with its default, help and range."""

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

INFINITY = math.inf
COMMON = "common flags"
"""Heading of help for the flags that most trainings set."""


@dataclass(frozen=True)
class Range:
    """The values that a field may have; of a tuple, the values of its items.

    Attributes:
        least: inclusive lower bound, or None.
        most: inclusive upper bound, or None.
        above: exclusive lower bound, or None.
        below: exclusive upper bound, or None.
        choices: names to choose from; empty for any.
        buckets: whether the value is a sequence of increasing lengths ≥ 1.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    buckets: bool = False

    def holds(self, value) -> bool:
        """Whether a value is in the range; NaN never is, None always is."""
        if self.buckets:
            return is_increasing(value)
        if value is None:
            return True
        if self.choices:
            names = value if isinstance(value, tuple) else (value,)
            return bool(names) and all(name in self.choices for name in names)
        if isinstance(value, tuple):
            return all(map(self.holds, value))
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self):
        if self.buckets:
            return "to be increasing and >= 1"
        if self.choices:
            return f"to be one of {', '.join(self.choices)}"
        if self.least is not None and self.most is not None:
            return f"between {_number(self.least)} and {_number(self.most)}"
        bounds = ((">=", self.least), (">", self.above), ("<=", self.most), ("<", self.below))
        words = [
            "finite" if bound == math.inf else f"{sign} {_number(bound)}"
            for sign, bound in bounds
            if bound is not None
        ]
        return " and ".join(words)


def _number(bound) -> str:
    """A bound as messages show it; integers keep all their digits."""
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def option(
    text: str,
    *,
    default: Any = dataclasses.MISSING,
    settled: bool = False,
    inherited: bool | tuple = False,
    flag: str = "",
    metavar: str = "",
    repeated: bool = False,
    group: str = "",
    needs: Mapping[str, Any] | tuple[Mapping[str, Any], ...] = (),
    **limits: Any,
) -> Any:
    """Declares a field of a part, which is also a command-line flag.

    Args:
        text: line of help.
        default: value of the field; a field without one must be given.
        settled: whether trained weights and vocabularies fix the value; training that starts
            from them (`--from`) inherits it.
        inherited: whether such training inherits the value unless another one is given; a tuple
            has the values that may replace each other.
        flag: the flag, without hyphens before it; "" for one like the field's name.
        metavar: what stands for the value in help; "" for its type.
        repeated: whether the flag may be given several times, each with some of a tuple's items.
        group: heading of help under which the flag stands; "" for that of its part.
        needs: values of other fields, of any part. If none of the fields has such a value, this one
            has no effect. A tuple has several such values; False stands for False, 0 and "", and
            True for any other; of a field that is a tuple, one item is enough. Of several such
            dicts, each has to have a field with its value.
        **limits: fields of `Range`.
    """
    metadata = {"help": text, "range": Range(**limits), "settled": settled, "group": group}
    metadata |= {"inherited": inherited, "flag": flag, "metavar": metavar, "repeated": repeated}
    metadata["needs"] = (needs,) if isinstance(needs, Mapping) else needs
    return field(default=default, metadata=metadata)


def argument(text: str, *, metavar: str, default: Any = dataclasses.MISSING) -> Any:
    """Declares a field of a command's options that is given without a flag; see `option`."""
    metadata = {"help": text, "range": Range(), "flag": None, "metavar": metavar, "group": ""}
    return field(default=default, metadata=metadata)


def choice(text: str, *, default: Any, kinds: Mapping[str, type], settled: bool = False) -> Any:
    """Declares a field that holds one of several parts; its flag takes the name of one.

    The fields of all of them are flags, each with the part that has it.

    Args:
        text: line of help.
        default: the part.
        kinds: classes of parts by name; their fields have defaults. A recipe may hold a part of
            another class with the same members.
        settled: see `option`.

    Raises:
        ValueError: parts with a field of the same name and another type, which have one flag.
    """
    types_of_fields: dict[str, Any] = {}
    for kind in kinds.values():
        for name, value in field_types(kind).items():
            if types_of_fields.setdefault(name, value) != value:
                raise ValueError(
                    f"Expected one type of {name} in the parts to choose from. Received: "
                    f"{type_name(types_of_fields[name])} and {type_name(value)}"
                )
    declared = option(text, default=default, settled=settled, choices=tuple(kinds))
    return field(default=default, metadata={**declared.metadata, "kinds": kinds})


def summary_of(cls: type) -> str:
    """The first line of a class's docstring, without its period; its name if it has none."""
    line = (inspect.getdoc(cls) or "").partition("\n")[0].removesuffix(".")
    return cls.__name__ if not line or line.startswith(f"{cls.__name__}(") else line


def shown_value(instance, declared: dataclasses.Field) -> Any:
    """The value of a field as flags and messages have it: of a choice, the name of its part."""
    value = getattr(instance, declared.name)
    return kind_name(declared, value) if "kinds" in declared.metadata else value


def kind_name(declared: dataclasses.Field, value: Any) -> str:
    """The name of a part that a choice holds; of another class, the class's."""
    kinds = declared.metadata["kinds"]
    names = (name for name, kind in kinds.items() if type(value) is kind)
    return next(names, type(value).__name__)


@typing.dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(option, argument, choice)
)
def part(cls):
    """Class decorator: a frozen dataclass with keyword arguments that checks its fields.

    A class with a method `check` has it called after the ranges are checked; it raises ValueError
    for incompatible fields.

    Example:
        >>> @part
        ... class Sizes:
        ...     width: int = option("width in pixels", default=7, least=1)
        >>> Sizes(width=0)
        Traceback (most recent call last):
        ValueError: Expected width >= 1. Received: width=0
    """

    def __post_init__(self):
        check_fields(self)
        if check := getattr(self, "check", None):
            check()

    cls.__post_init__ = __post_init__
    return dataclass(frozen=True, kw_only=True)(cls)


def check_fields(instance) -> None:
    """Raises ValueError for the first field that has a wrong type or is out of range."""
    kinds = field_types(type(instance))
    for declared in dataclasses.fields(instance):
        name, value = declared.name, getattr(instance, declared.name)
        if "range" not in declared.metadata:
            continue
        if "kinds" in declared.metadata:
            check_part(name, value, kinds[name])
            continue
        if not is_of_type(value, kinds[name]):
            raise ValueError(
                f"Expected {name} of type {type_name(kinds[name])}. Received: {name}={value!r:.80}"
            )
        limits = declared.metadata["range"]
        if not limits.holds(value):
            raise ValueError(f"Expected {name} {limits}. Received: {name}={value!r}")


def check_part(name: str, instance: Any, protocol: type) -> None:
    """Raises ValueError for anything but a part with the members of a protocol."""
    if isinstance(instance, type) or not dataclasses.is_dataclass(instance):
        raise ValueError(
            f"Expected {name} to be an instance of a class with @part. Received: {instance!r:.80}"
        )
    check_members(name, instance, protocol)


def check_members(name: str, instance: Any, protocol: type) -> None:
    """Raises ValueError for an object that lacks a member of a protocol."""
    members = dict.fromkeys((*inspect.get_annotations(protocol), *vars(protocol)))
    public = [member for member in members if not member.startswith("_")]
    if missing := [member for member in public if not hasattr(instance, member)]:
        raise ValueError(
            f"Expected {name} {type(instance).__name__} to have {', '.join(missing)}, see "
            f"{protocol.__module__}.{protocol.__name__}. Received: a class without them"
        )


def field_types(cls) -> dict[str, Any]:
    """The types of a dataclass's fields by name."""
    return typing.get_type_hints(cls)


def is_of_type(value, kind) -> bool:
    """Whether a value is of a field's type; integers are floats too, booleans are neither."""
    arguments = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return any(is_of_type(value, argument) for argument in arguments)
    if kind is types.NoneType:
        return value is None
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(is_of_type(item, arguments[0]) for item in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def type_name(kind) -> str:
    """A field's type as messages and help show it."""
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def is_increasing(lengths: Sequence[int]) -> bool:
    """Whether bucket lengths are non-empty, increasing and at least 1."""
    return bool(lengths) and lengths[0] >= 1 and list(lengths) == sorted(set(lengths))


def check_heads(hidden_dim: int, num_heads: int) -> None:
    """Raises ValueError unless the heads of a Transformer divide its width."""
    if hidden_dim % num_heads:
        raise ValueError(
            "Expected hidden_dim divisible by num_heads. "
            f"Received: hidden_dim={hidden_dim}, num_heads={num_heads}"
        )
