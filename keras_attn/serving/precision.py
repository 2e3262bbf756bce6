"""The compute and storage precision of models; weights are cast once, not at every use."""

import contextlib

import keras
from keras import ops
from keras.src.backend import AutocastScope  # Not public; setup.cfg pins Keras.

from keras_attn.lazy_tensorflow import tf

PRECISIONS = ("float32", "bfloat16")
STORAGES = ("float32", "float16")


def set_precision(model, precision: str) -> None:
    """Makes a model compute in float32, or in bfloat16 as in mixed-precision training.

    Variables, logits, cell states, attention weights, scores and sampling coordinates are float32
    in either case.

    Args:
        model: Keras model. One with a method `float32_layers` names the layers that compute in
            float32 under any precision; for others these are the output layers.
        precision: "float32" or "bfloat16".

    Raises:
        ValueError: unknown precision.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"Expected a precision of {PRECISIONS}. Received: {precision!r}")
    policy = "mixed_bfloat16" if precision == "bfloat16" else "float32"
    for layer in model._flatten_layers():
        layer.dtype_policy = policy
    for layer in _precise(model):
        layer.dtype_policy = "float32"


def precision_of(model) -> str:
    """The compute precision of a model or its decoder: "float32" or "bfloat16"."""
    return getattr(model, "decoder", model).compute_dtype


def _precise(model):
    """Layers that compute in float32 under any precision."""
    if hasattr(model, "float32_layers"):
        return model.float32_layers()
    outputs = {id(tensor) for tensor in keras.tree.flatten(getattr(model, "outputs", []))}
    return [
        layer
        for layer in getattr(model, "layers", [])
        if outputs & {id(tensor) for tensor in keras.tree.flatten(layer.output)}
    ]


@contextlib.contextmanager
def cast_once(layer):
    """Context in which a layer computes as in its call, with weights cast once on entry.

    Keras casts a float32 variable at each use, so in a decoding loop at every step, and only in
    layer calls, which `start` and `step` are not. A tensor cast before the loop is a constant of
    the loop. Does nothing in float32.

    Args:
        layer: `CaptionDecoder`; layers in it that compute in float32 keep their variables, as do
            variables that Keras casts nowhere, such as those of `LayerNormalization`.
    """
    precision = layer.compute_dtype
    if precision == "float32":
        yield
        return
    precise = [part for part in layer._flatten_layers() if part.compute_dtype != precision]
    precise = {id(variable) for part in precise for variable in part.weights}
    with AutocastScope(precision):  # In it, a variable's dtype is that which Keras reads it in.
        variables = [
            weight
            for weight in layer.weights
            if id(weight) not in precise and weight.dtype == precision
        ]
        values = [(variable, ops.convert_to_tensor(variable.value)) for variable in variables]
    with keras.StatelessScope(initialize_variables=False) as scope, AutocastScope(precision):
        for update in values:
            scope.add_update(update)
        yield


def check_storage(storage: str, precision: str) -> None:
    """Raises ValueError for an unknown storage, or one that a precision does not allow."""
    if storage not in STORAGES:
        raise ValueError(f"Expected a storage of {STORAGES}. Received: {storage!r}")
    if storage != "float32" and precision != "float32":
        raise ValueError(
            f"Expected storage='float32' with precision {precision!r}. "
            f"Received: storage={storage!r}"
        )


def stored_variables(model, storage: str) -> "list[tf.Variable]":
    """The variables of a model as stored in a SavedModel, in the model's order.

    Args:
        model: with float32 variables.
        storage: "float32", the model's own variables; or "float16", float16 copies of the float32
            ones, see `reading_stored`.

    Raises:
        ValueError: unknown storage; float16 for a model that does not compute in float32; or a
            value outside the range of float16.
    """
    check_storage(storage, precision_of(model))
    if storage == "float32":
        return [variable.value for variable in model.variables]
    stored = []
    for variable in model.variables:
        value = tf.convert_to_tensor(variable.value)
        half = tf.cast(value, tf.float16) if value.dtype == tf.float32 else value
        if not tf.reduce_all(tf.math.is_finite(tf.cast(half, tf.float32))):
            raise ValueError(
                f"Expected weights within float16. Received: {variable.path} with values up to "
                f"{float(tf.reduce_max(tf.abs(value))):.4g}"
            )
        stored.append(tf.Variable(half, trainable=variable.trainable, name=variable.name))
    return stored


@contextlib.contextmanager
def reading_stored(model, stored):
    """Context in which a model computes with `stored_variables`, cast once on entry if needed.

    Args:
        model: the model.
        stored: its `stored_variables`.
    """
    pairs = [pair for pair in zip(model.variables, stored) if pair[0].value is not pair[1]]
    if not pairs:
        yield
        return
    with keras.StatelessScope(initialize_variables=False) as scope:
        for variable, value in pairs:
            scope.add_update((variable, tf.cast(value, variable.dtype)))
        yield
