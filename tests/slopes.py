"""Gradients of functions of arrays, on every backend."""

import keras
from keras import ops

from tests.processes import compiled


def slopes(loss, count):
    """A function from a list of arrays to a scalar, further outputs, and the scalar's gradients.

    Args:
        loss: function of `count` tensors, to a scalar and a list of tensors.
        count: int ≥ 1.
    """
    differentiate = {"jax": _on_jax, "tensorflow": _on_tensorflow, "torch": _on_torch}[
        keras.backend.backend()
    ](loss, count)

    def arrays_of(given):
        given = [ops.convert_to_tensor(array) for array in given]
        return keras.tree.map_structure(ops.convert_to_numpy, differentiate(given))

    return arrays_of


def _on_jax(loss, count):
    import jax

    found = compiled(jax.value_and_grad(loss, tuple(range(count)), has_aux=True))

    def differentiate(given):
        (total, outputs), gradients = found(*given)
        return total, outputs, gradients

    return differentiate


def _on_tensorflow(loss, count):
    import tensorflow as tf

    def differentiate(given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            total, outputs = loss(*given)
        return total, outputs, tape.gradient(total, given, unconnected_gradients="zero")

    return differentiate


def _on_torch(loss, count):
    import torch

    def differentiate(given):
        given = [tensor.detach().clone().requires_grad_() for tensor in given]
        total, outputs = loss(*given)
        if not total.requires_grad:  # A metric.
            return total, outputs, [torch.zeros_like(tensor) for tensor in given]
        gradients = torch.autograd.grad(total, given, allow_unused=True, materialize_grads=True)
        return total, outputs, gradients

    return differentiate
