"""Functions of a Keras model, compiled by whatever compiles the backend's."""

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

import keras
from keras import ops, tree


def compiled(function: Callable[[Any], Any], model) -> Callable[[Any], Any]:
    """A function that calls a model, compiled: once for each shape of its argument.

    On TensorFlow this is a graph, for whatever shapes; on JAX it is jitted, with the model's
    variables as inputs, so that training between two calls is seen, and with what the function
    assigns to variables that are not trainable assigned afterwards. On PyTorch it is the function
    itself, without gradients.

    Args:
        function: of a structure of tensors, to a structure of tensors.
        model: built Keras layer or model, all whose variables the function uses.

    Returns:
        function of a structure of tensors or arrays.

    Example:
        >>> import numpy as np
        >>> layer = keras.layers.Dense(3, kernel_initializer="ones")
        >>> layer.build((None, 2))
        >>> project = compiled(layer, layer)
        >>> np.array(project(np.ones((1, 2), "float32")))
        array([[2., 2., 2.]], dtype=float32)
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(function, autograph=False, reduce_retracing=True)
    if backend == "jax":
        return _jitted(function, model)

    def without_gradients(inputs):
        with no_gradients():
            return function(inputs)

    return without_gradients


def no_gradients() -> contextlib.AbstractContextManager:
    """Context in which PyTorch keeps nothing for gradients."""
    import torch

    return torch.no_grad()


class CompiledFunctions:
    """Functions of a model, each compiled at its first call; who calls them holds this object.

    Args:
        model: as in `compiled`; it may hold this object itself.
        most: int ≥ 1. How many functions are kept; the oldest goes first.

    Call arguments:
        function: of the model and of the inputs; equal functions are compiled once.
        *inputs: structures of tensors.

    Example:
        >>> layer = keras.layers.Dense(3, kernel_initializer="ones")
        >>> layer.build((None, 2))
        >>> functions = CompiledFunctions(layer)
        >>> functions(keras.layers.Layer.__call__, ops.ones((1, 2))).shape[-1]
        3
    """

    def __init__(self, model, most=64):
        self._model, self._most, self._functions = weakref.ref(model), most, {}

    def __call__(self, function, *inputs):
        if function not in self._functions:
            if len(self._functions) == self._most:
                del self._functions[next(iter(self._functions))]
            model = self._model
            self._functions[function] = compiled(lambda given: function(model(), *given), model())
        return self._functions[function](inputs)

    def __len__(self):
        return len(self._functions)


def is_traced(structure) -> bool:
    """Whether JAX is tracing the function in which these tensors, arrays or variables are used."""
    if keras.backend.backend() != "jax":
        return False
    import jax

    leaves = [getattr(leaf, "value", leaf) for leaf in tree.flatten(structure)]
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)


def _jitted(function, model):
    import jax

    model = weakref.ref(model)  # Who calls the function has the model.

    @jax.jit
    def run(values, inputs):
        with keras.StatelessScope(zip(model().variables, values)) as scope:
            outputs = function(inputs)
        states = model().non_trainable_variables
        return outputs, [scope.get_current_value(variable) for variable in states]

    def call(inputs):
        arrays = jax.tree.map(ops.convert_to_tensor, inputs)
        outputs, assigned = run([variable.value for variable in model().variables], arrays)
        for variable, value in zip(model().non_trainable_variables, assigned):
            variable.assign(value)
        return outputs

    return call
