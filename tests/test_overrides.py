"""Abstract or final: a class defines what its base leaves open, and nothing that works there."""

import ast
import inspect
import pkgutil
import textwrap
from importlib import import_module

import keras_attn
import keras_attn_pipelines

HOOKS = {"build", "call", "get_config", "from_config", "update_step"}
"""Methods of Keras that a class extends by way of its base's."""


def classes():
    """The classes of all modules."""
    for package in (keras_attn, keras_attn_pipelines):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                for _, found in inspect.getmembers(import_module(module.name), inspect.isclass):
                    if found.__module__ == module.name:
                        yield found


def function_of(attribute):
    """The function behind a method or a property of a class, or None."""
    function = getattr(attribute, "fget", getattr(attribute, "__func__", attribute))
    return function if inspect.isfunction(function) else None


def is_abstract(function):
    """Whether a function is left to subclasses."""
    if getattr(function, "__isabstractmethod__", False):
        return True
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    last = definition.body[-1]
    return isinstance(last, ast.Raise) and "NotImplementedError" in ast.unparse(last)


def overridden(found):
    """What a class overrides of our own classes, Keras' and Python's hooks excepted."""
    names = [name for name in vars(found) if not name.startswith(("__", "compute_"))]
    for name in set(names) - HOOKS:
        for base in found.__mro__[1:]:
            function = function_of(vars(base).get(name))
            ours = function and base.__module__.startswith("keras_attn")
            if ours and function_of(vars(found)[name]) and not is_abstract(function):
                yield f"{found.__name__}.{name} of {base.__name__}"


def test_no_concrete_method_is_overridden():
    assert not [text for found in classes() for text in overridden(found)]
