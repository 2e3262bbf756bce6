"""The command line's flags: one for each field of an experiment's parts."""

import argparse
import types
import typing
from collections.abc import Sequence
from typing import Any

from keras_attn_pipelines.experiment.experiment import PARTS, Experiment
from keras_attn_pipelines.experiment.fields import Range

PREFIX = "option_"
"""Prefix of field names in the parsed arguments."""


def add_flags(
    parser: argparse.ArgumentParser, experiment: Experiment, parts: Sequence[str] = PARTS
) -> None:
    """Adds a flag for every field of some parts of an experiment, one group per part."""
    groups: dict[str, Any] = {}
    for name, field, kind, value in experiment.flags():
        if name not in parts:
            continue
        if name not in groups:
            title = f"{name}: {type(getattr(experiment, name)).__name__}"
            groups[name] = parser.add_argument_group(title)
        limits = field.metadata["range"]
        options: dict[str, Any] = {
            "dest": f"{PREFIX}{field.name}",
            "default": argparse.SUPPRESS,  # Only flags that were given are set.
            "help": f"{field.metadata['help']}{_choices(limits)} (default: {_shown(value)})",
        }
        groups[name].add_argument(f"--{field.name.replace('_', '-')}", **options, **_kind(kind))


def given_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """Values of the flags that were given, by field name."""
    return {
        key.removeprefix(PREFIX): tuple(value) if isinstance(value, list) else value
        for key, value in vars(arguments).items()
        if key.startswith(PREFIX)
    }


def _kind(kind) -> dict[str, Any]:
    """Keyword arguments of `add_argument` for a field's type."""
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if isinstance(kind, types.UnionType):  # Such as float | None.
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return {"nargs": "+", "type": item, "metavar": item.__name__.upper()}
    return {"type": kind, "metavar": kind.__name__.upper()}


def _choices(limits: Range) -> str:
    return f": {', '.join(limits.choices)}" if limits.choices else ""


def _shown(value):
    return " ".join(map(str, value)) if isinstance(value, tuple) else value
