"""The compute precision of models; weights are cast once, not at every use."""

import contextlib

import keras
from keras import ops
from keras.src.backend import AutocastScope  # Not public; setup.cfg pins Keras.

PRECISIONS = ("float32", "bfloat16")


def set_precision(model, precision: str) -> None:
    """Makes a model compute in float32, or in bfloat16 as in mixed-precision training.

    Variables, logits, cell states, attention weights, scores and sampling coordinates are float32
    in either case.

    Args:
        model: Keras model. One with a method `float32_layers` names the layers that compute in
            float32 under any precision, as do such models inside it; for others these are the
            output layers.
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
        named = [part for part in model._flatten_layers() if hasattr(part, "float32_layers")]
        return [layer for part in named for layer in part.float32_layers()]
    outputs = {id(tensor) for tensor in keras.tree.flatten(getattr(model, "outputs", []))}
    return [
        layer
        for layer in getattr(model, "layers", [])
        if outputs & {id(tensor) for tensor in keras.tree.flatten(layer.output)}
    ]


@contextlib.contextmanager
def cast_once(*layers):
    """Context in which layers compute as in their calls, with weights cast once on entry.

    Keras casts a float32 variable at each use, so in a decoding loop at every step, and only in
    layer calls, which `start` and `step` are not. A tensor cast before the loop is a constant of
    the loop. Does nothing in float32.

    Args:
        *layers: `CaptionDecoder`s of one precision; layers in them that compute in float32 keep
            their variables, as do variables that Keras casts nowhere, such as those of
            `LayerNormalization`.
    """
    precision = layers[0].compute_dtype
    if precision == "float32":
        yield
        return
    parts = [part for layer in layers for part in layer._flatten_layers()]
    precise = [part for part in parts if part.compute_dtype != precision]
    precise = {id(variable) for part in precise for variable in part.weights}
    with AutocastScope(precision):  # In it, a variable's dtype is that which Keras reads it in.
        variables = [
            weight
            for layer in layers
            for weight in layer.weights
            if id(weight) not in precise and weight.dtype == precision
        ]
        values = [(variable, ops.convert_to_tensor(variable.value)) for variable in variables]
    with keras.StatelessScope(initialize_variables=False) as scope, AutocastScope(precision):
        for update in values:
            scope.add_update(update)
        yield
