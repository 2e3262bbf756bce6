"""Configs of layers and models, from the arguments of their constructors."""

import inspect
from dataclasses import asdict, is_dataclass

import keras

PACKAGE = __name__.split(".")[0]


def constructor_config(built):
    """The arguments of a layer's or model's constructor, read from attributes of their names.

    Of a subclass outside the package, those of the package's class: it adds its own arguments in
    its `get_config`, as any subclass of a Keras layer. What a class's `custom_config` names, the
    class's own `get_config` adds.
    """
    names = {}
    for cls in type(built).__mro__:
        if cls.__module__.split(".")[0] == PACKAGE and "__init__" in vars(cls):
            _, *parameters = inspect.signature(cls.__init__).parameters.values()
            named = [part.name for part in parameters if part.kind is not part.VAR_KEYWORD]
            names |= dict.fromkeys(name for name in named if name not in cls.custom_config)
    return {name: serialized(getattr(built, name)) for name in names}


def constructor_arguments(config):
    """The inverse of `constructor_config`: layers and initializers are restored."""
    return {name: _restored(value) for name, value in config.items()}


def serialized(value):
    """The config of an argument; plain values as they are.

    When a model is saved, Keras marks a layer that occurs twice as shared in both configs, but has
    already copied the first one; hence a second config, whose copy has the mark.

    Example:
        >>> serialized(keras.layers.Dense(3))["class_name"]
        'Dense'
    """
    if is_dataclass(value) and not hasattr(value, "get_config"):
        return asdict(value)
    keras.saving.serialize_keras_object(value)
    return keras.saving.serialize_keras_object(value)


def _restored(value):
    if isinstance(value, list | tuple):
        return type(value)(map(_restored, value))
    is_object = isinstance(value, dict) and "class_name" in value
    return keras.saving.deserialize_keras_object(value) if is_object else value
