"""A user's own recipe file: Python that sets RECIPE to an `Experiment`."""

import contextlib
import functools
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from keras_attn_pipelines.experiment.experiment import Experiment

MODULE_PREFIX = "keras_attn_recipe_"


def load_recipe_file(path) -> Experiment:
    """The experiment in a user's recipe file, which also registers its layers.

    An unchanged file is executed only once.

    Raises:
        ValueError: no such file, one that does not run, or one without RECIPE.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"Expected a recipe file. Received: {path}, no such file")
    return _loaded(path.resolve(), path.stat().st_mtime_ns)


@contextlib.contextmanager
def naming_recipe_file():
    """Names the line of a user's recipe file where one of its parts fails unexpectedly.

    Raises:
        ValueError: instead of errors other than ValueError, OSError, ImportError and Ctrl-C;
            errors outside recipe files are passed on.
    """
    try:
        yield
    except BaseException as error:
        walked = traceback.walk_tb(error.__traceback__)
        frames = [(frame, line) for frame, line in walked if _is_of_recipe_file(frame)]
        expected = isinstance(error, ValueError | OSError | ImportError | KeyboardInterrupt)
        if expected or not frames:
            raise
        frame, line = frames[-1]
        part = frame.f_locals.get("self")
        name = "" if part is None else f"{type(part).__name__} of "
        raise ValueError(
            f"Expected {name}the recipe file to work. "
            f"Received: {type(error).__name__}: {error} at {frame.f_code.co_filename}:{line}"
        ) from error


def _is_of_recipe_file(frame):
    return frame.f_globals.get("__name__", "").startswith(MODULE_PREFIX)


def recipe_of(module: types.ModuleType, name) -> Experiment:
    """The experiment that a recipe's module sets RECIPE to.

    Raises:
        ValueError: RECIPE is missing or not an `Experiment`.
    """
    recipe: Any = getattr(module, "RECIPE", None)
    if not isinstance(recipe, Experiment):
        raise ValueError(f"Expected RECIPE = Experiment(...) in {name}. Received: {recipe!r:.80}")
    return recipe


@functools.lru_cache(maxsize=8)
def _loaded(path, changed):
    # The prefix keeps a file called json.py from replacing the module json.
    module = types.ModuleType(f"{MODULE_PREFIX}{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # User code can raise anything.
        hint = ""
        if isinstance(error, ModuleNotFoundError) and (path.parent / f"{error.name}.py").is_file():
            hint = "; a run keeps a copy of this file alone, so it cannot import the one beside it"
        raise ValueError(
            f"Expected a recipe file that runs. Received: {path} with "
            f"{type(error).__name__}: {error}{hint}"
        ) from error
    return recipe_of(module, path)
