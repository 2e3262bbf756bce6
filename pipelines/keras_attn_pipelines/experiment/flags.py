"""The command line's flags: one for each field of an experiment's parts, or of a command."""

import argparse
import dataclasses
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from keras_attn_pipelines.experiment.experiment import PARTS, Experiment
from keras_attn_pipelines.experiment.fields import COMMON, Range, field_types, summary_of

TITLES = {"source": "data", "fit": "training"}
"""Headings of parts in help; the others have their own name."""
PREFIX = "option_"
"""Prefix of the names of an experiment's fields in the parsed arguments."""


def add_flags(
    parser: argparse.ArgumentParser, experiment: Experiment, parts: Sequence[str] = PARTS
) -> None:
    """Adds a flag for every field of some parts of an experiment, the common ones first."""
    titles = {
        name: f"{TITLES.get(name, name)}: {summary_of(type(getattr(experiment, name)))}"
        for name in parts
    }
    declared = [
        (field.metadata["group"] or titles[name], f"{PREFIX}{field.name}", field, kind, value)
        for name, field, kind, value in experiment.flags()
        if name in parts
    ]
    for title, *flag in sorted(declared, key=lambda flag: flag[0] != COMMON):
        _add(_group(parser, title), *flag)


def add_options(parser: argparse.ArgumentParser, command: type) -> None:
    """Adds a flag, or a place, for every field of a command's options."""
    kinds = field_types(command)
    for field in dataclasses.fields(command):
        if "range" in field.metadata:
            group = _group(parser, field.metadata["group"])
            _add(group, field.name, field, kinds[field.name], field.default)


def given_values(arguments: argparse.Namespace, prefix: str = PREFIX) -> dict[str, Any]:
    """Values that were given, by field name: of an experiment, or with prefix "" of a command."""
    is_experiment = bool(prefix)
    return {
        key.removeprefix(prefix): tuple(value) if isinstance(value, list) else value
        for key, value in vars(arguments).items()
        if key.startswith(PREFIX) == is_experiment
    }


def flag_of(field: dataclasses.Field) -> str:
    """The flag of a field; of one without a flag, what stands for its value."""
    flag = field.metadata["flag"]
    return (
        field.metadata["metavar"] if flag is None else f"--{(flag or field.name).replace('_', '-')}"
    )


def _group(parser, title):
    """The parser's group of a title; the parser for none."""
    groups = {group.title: group for group in parser._action_groups}
    return (groups.get(title) or parser.add_argument_group(title)) if title else parser


def _add(parser, name, field, kind, value):
    """Adds a flag, or a place where the field has no flag."""
    declared = field.metadata
    text = f"{declared['help']}{_choices(declared['range'])}"
    options: dict[str, Any] = {"default": argparse.SUPPRESS}  # Only what was given is set.
    options |= _kind(kind)
    if declared["metavar"]:
        options["metavar"] = declared["metavar"]
    if declared["flag"] is None:
        many = typing.get_origin(_inner(kind)) is tuple
        optional = field.default is not dataclasses.MISSING
        options["nargs"] = ("*" if optional else "+") if many else "?" if optional else None
        parser.add_argument(name, help=text, **options)
        return
    if declared["repeated"]:
        options["action"] = "extend"
    if field.default is dataclasses.MISSING:
        options["required"] = True
    elif value not in (None, "", ()) and "(default" not in text:
        text += f" (default: {_shown(value)})"
    parser.add_argument(flag_of(field), dest=name, help=text, **options)


def _inner(kind):
    """A field's type; of a union with None, the other one."""
    return typing.get_args(kind)[0] if isinstance(kind, types.UnionType) else kind


def _kind(kind) -> dict[str, Any]:
    """Keyword arguments of `add_argument` for a field's type."""
    inner = _inner(kind)
    if inner is bool:
        return {"action": argparse.BooleanOptionalAction}
    if typing.get_origin(inner) is tuple:
        item = typing.get_args(inner)[0]
        nargs = "+" if inner is kind else "*"
        return {"nargs": nargs, "type": item, "metavar": item.__name__.upper()}
    return {"type": inner, "metavar": inner.__name__.upper()}


def _choices(limits: Range) -> str:
    return f"; one of {', '.join(limits.choices)}" if limits.choices else ""


def _shown(value: Any) -> str:
    values: Iterable[Any] = value if isinstance(value, tuple) else (value,)
    return " ".join(map(str, values))
