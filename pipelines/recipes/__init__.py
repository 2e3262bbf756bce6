"""Recipes: one experiment a file, found by name or by path."""

import ast
import difflib
import importlib
import pkgutil
import sys
import types
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.recipe import Recipe


def recipe_names() -> list[str]:
    """Names of the recipes that come with the project."""
    return sorted(one.name for one in pkgutil.iter_modules(__path__))


def recipe_name(name: str) -> str:
    """The name of a recipe, which may be given with hyphens; a path as it is."""
    return name if name.endswith(".py") else name.replace("-", "_")


def load_recipe(name: str) -> "type[Recipe]":
    """The recipe class of a name or of a user's file.

    Args:
        name: one of `recipe_names`, or the path of a Python file that sets RECIPE to a subclass of
            `Recipe`.

    Returns:
        the class.

    Raises:
        ValueError: no such recipe or file, a file that does not run, or one without RECIPE.
    """
    if name.endswith(".py"):
        path = Path(name)
        if not path.is_file():
            raise ValueError(f"Expected a recipe file. Received: {name}, no such file")
        # A name of its own: a file called json.py must not take the place of a module.
        module = types.ModuleType(f"keras_attn_recipe_{path.stem}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        _execute(path, module)
    elif recipe_name(name) in recipe_names():
        module = importlib.import_module(f"{__name__}.{recipe_name(name)}")
    else:
        near = difflib.get_close_matches(name, recipe_names(), 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"Expected a recipe of {recipe_names()} or a .py file. Received: {name!r}.{hint}"
        )
    recipe: Any = getattr(module, "RECIPE", None)
    fits = isinstance(recipe, type) and is_dataclass(recipe) and hasattr(recipe, "model")
    if not fits:
        raise ValueError(
            f"Expected RECIPE = <a subclass of Recipe> in {name}. Received: {recipe!r}"
        )
    return recipe


def _execute(path, module):
    """Runs a user's file, whose mistakes may be of any kind, in a module."""
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except Exception as error:
        raise ValueError(
            f"Expected a recipe file that runs. Received: {path} with "
            f"{type(error).__name__}: {error}"
        ) from error


def recipe_summary(name: str) -> str:
    """The docstring of a recipe that comes with the project, read without importing it."""
    source = (Path(__path__[0]) / f"{name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or ""
