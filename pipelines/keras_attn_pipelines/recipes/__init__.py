"""Recipes: one experiment per file, found by name or by path."""

import ast
import difflib
import importlib
import pkgutil
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.fields import kind_name, summary_of
from keras_attn_pipelines.experiment.recipe_file import load_recipe_file, recipe_of

ROW = "  {:24}  {:27}  {:>7}  {}"
"""A row of the table of recipes: name, data, minutes, result."""


def recipe_names() -> list[str]:
    """Names of the recipes that come with the project."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def recipe_name(name: str) -> str:
    """The name of a recipe, hyphens replaced; a path as it is."""
    return name if name.endswith(".py") else name.replace("-", "_")


def load_recipe(name: str) -> Experiment:
    """The experiment of a recipe.

    Args:
        name: one of `recipe_names`, or the path of a Python file that sets RECIPE to an
            `Experiment`.

    Raises:
        ValueError: no such recipe or file, a file that does not run, or one without RECIPE.
    """
    if name.endswith(".py"):
        return load_recipe_file(name)
    if recipe_name(name) in recipe_names():
        return recipe_of(importlib.import_module(f"{__name__}.{recipe_name(name)}"), name)
    matches = difflib.get_close_matches(name, recipe_names(), 1)
    hint = f" Did you mean {matches[0]!r}?" if matches else ""
    raise ValueError(
        f"Expected a recipe of {recipe_names()} or a .py file. Received: {name!r}.{hint}"
    )


def recipe_summary(name: str) -> str:
    """The docstring of a recipe that comes with the project, read without importing it."""
    source = (Path(__path__[0]) / f"{name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or ""


def recipe_table() -> str:
    """The recipes that come with the project, by task: name, data, minutes to train, result."""
    tasks: dict[str, list[str]] = {}
    for name in recipe_names():
        facts = dict(re.findall(r"(?m)^(Data|Minutes|Result): (.*)$", recipe_summary(name)))
        row = (name, facts["Data"], facts.get("Minutes", ""), facts.get("Result", ""))
        task = summary_of(type(load_recipe(name).task))
        tasks.setdefault(task.partition(":")[0], []).append(ROW.format(*row).rstrip())
    head = ROW.format("", "data", "minutes", "result")
    return "\n\n".join([head, *("\n".join([task, *tasks[task]]) for task in sorted(tasks))])


def recipe_text(name: str) -> str:
    """A recipe's docstring and the parts of its experiment with their values.

    Raises:
        ValueError: no such recipe or file.
    """
    experiment = load_recipe(name)
    summary = recipe_summary(recipe_name(name)) if recipe_name(name) in recipe_names() else ""
    lines = [f"{name}: {summary}" if summary else name]
    for field in fields(experiment):
        part = getattr(experiment, field.name)
        if is_dataclass(part):
            lines += ["", f"{field.name}: {type(part).__name__}", *_values(part)]
    return "\n".join([*lines, "", f"All flags: keras-attn train {name} --help"])


def _values(part) -> list[str]:
    """A line for each field, those of nested parts behind theirs."""
    lines = []
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            if "kinds" in field.metadata:
                lines.append(f"    {field.name:24} {kind_name(field, value)}")
            lines += _values(value)
        else:
            lines.append(f"    {field.name:24} {value}")
    return lines
