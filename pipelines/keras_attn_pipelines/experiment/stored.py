"""Experiments as JSON: each part's class by name, with the values of its fields."""

import dataclasses
import importlib
import itertools
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_attn_pipelines.experiment.experiment import PARTS, Experiment
from keras_attn_pipelines.experiment.fields import field_types, kind_name
from keras_attn_pipelines.experiment.recipe_file import MODULE_PREFIX

DESCRIPTION_FILE = "recipe.json"
"""File of a run with its experiment; it makes a folder a run."""
ROOT = __name__.split(".")[0]
TYPE, OWN, SHARED = "type", "recipe", "experiment"
"""Key of a part's class; the prefixes of classes in a user's recipe file and of shared ones."""


def stored(experiment: Experiment) -> dict[str, Any]:
    """An experiment's parts as a dict that JSON can hold.

    Raises:
        ValueError: a part whose class cannot be looked up by name.
    """
    return {name: stored_part(getattr(experiment, name)) for name in PARTS}


def restored(parts: Any, recipe: Experiment | None = None, place: Any = "") -> Experiment:
    """Inverse of `stored`.

    Args:
        parts: what `stored` returned.
        recipe: experiment of the user's recipe file, where parts are defined there.
        place: file that holds `parts`, for messages.

    Raises:
        ValueError: a part that is missing or damaged, or an unknown class.
    """
    if not isinstance(parts, Mapping) or set(parts) != set(PARTS):
        raise ValueError(
            f"Expected the parts {', '.join(PARTS)} in {place}. Received: {parts!r:.80}"
        )
    recipe_classes = _classes(recipe) if recipe is not None else {}
    return Experiment(**{name: _restored(parts[name], recipe_classes, place) for name in PARTS})


def type_of(part) -> str:
    """The name under which a part's class is stored.

    Raises:
        ValueError: a class that is neither in the recipe file nor in this package.
    """
    module, name = type(part).__module__, type(part).__name__
    if module.startswith(MODULE_PREFIX):
        return f"{OWN}.{name}"
    root, *folders = module.split(".")
    if root == ROOT and folders[0] == "tasks":
        return f"{folders[1]}.{name}"
    if root == ROOT and folders[0] == SHARED:
        return f"{SHARED}.{name}"
    raise ValueError(
        f"Expected parts whose classes are defined in the recipe file or in {ROOT}. "
        f"Received: {name} of {module}"
    )


def stored_part(value):
    """A part as a dict that JSON can hold, or the value of one of its fields.

    Raises:
        ValueError: a part whose class cannot be looked up by name.
    """
    if dataclasses.is_dataclass(value):
        values = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {TYPE: type_of(value), **{key: stored_part(value) for key, value in values.items()}}
    return list(value) if isinstance(value, tuple) else value


def _restored(content, recipe_classes, place):
    if isinstance(content, list):
        return tuple(content)
    if not isinstance(content, Mapping):
        return content
    cls = _class(content.get(TYPE), recipe_classes, place)
    field_names = {field.name for field in dataclasses.fields(cls)}
    values = _nested(cls, {key: value for key, value in content.items() if key != TYPE})
    if unknown := sorted(set(values) - field_names):
        raise ValueError(
            f"Expected fields of {content[TYPE]} in {place}. Received: {', '.join(unknown)}"
        )
    fields = {key: _restored(value, recipe_classes, place) for key, value in values.items()}
    for field in dataclasses.fields(cls):
        value = fields.get(field.name, field.default)  # Earlier versions have fewer fields.
        if dataclasses.is_dataclass(field.default) and not dataclasses.is_dataclass(value):
            raise ValueError(
                f"Expected a part as {field.name} of {content[TYPE]} in {place}. "
                f"Received: {value!r:.80}"
            )
    try:
        return cls(**fields)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{error}, in the parts in {place}") from error


def _nested(cls, values):
    """The fields of a part as it has them now: earlier versions had some that are in a part of it.

    Args:
        cls: class of the part.
        values: what was stored, by field name.
    """
    values = dict(values)
    for field in dataclasses.fields(cls):
        if not dataclasses.is_dataclass(field.default):
            continue
        kinds, name = field.metadata.get("kinds", {}), values.get(field.name)
        named = isinstance(name, str) and name in kinds
        if field.name in values and not named:
            continue
        usual = not named or kind_name(field, field.default) == name
        inner = stored_part(field.default if usual else kinds[name]())
        places = [inner, *map(field_types, kinds.values())]
        earlier = {key: values.pop(key) for key in {*itertools.chain(*places)} & values.keys()}
        if named or earlier:
            values[field.name] = {key: earlier.get(key, value) for key, value in inner.items()}
    return values


def _class(name, recipe_classes, place):
    """The class of a part by its name from `type_of`."""
    folder, _, cls = name.partition(".") if isinstance(name, str) else ("", "", "")
    if folder == OWN and cls in recipe_classes:
        return recipe_classes[cls]
    if folder == OWN:
        raise ValueError(
            f"Expected the recipe file that defines {cls}, a part of {place}. Received: none, or "
            "one without it"
        )
    tasks = importlib.import_module(f"{ROOT}.tasks")
    modules = {
        module.name: f"{ROOT}.tasks.{module.name}"
        for module in pkgutil.iter_modules(tasks.__path__)
    }
    modules[SHARED] = f"{ROOT}.{SHARED}"
    kind = getattr(importlib.import_module(modules[folder]), cls, None) if folder in modules else 0
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ValueError(f"Expected a known part in {place}. Received: {name!r:.80}")
    return kind


def _classes(part) -> dict[str, type]:
    """The classes of an experiment's parts, nested ones included, by name."""
    types: dict[str, type] = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        kinds = field.metadata.get("kinds", {})
        types |= {kind.__name__: kind for kind in kinds.values()}
        if dataclasses.is_dataclass(value):
            types |= {type(value).__name__: type(value), **_classes(value)}
    return types


def described(path: Path, content: Mapping[str, Any]) -> Any:
    """The stored parts in the description of a run directory or a SavedModel.

    Raises:
        ValueError: an earlier version's description, without parts.
    """
    if "parts" not in content:
        raise ValueError(
            f"Expected the parts of an experiment in {path}. Received: "
            f"{', '.join(list(content)[:5]) or 'nothing'}, written by an earlier version; train or "
            "export again"
        )
    return content["parts"]
