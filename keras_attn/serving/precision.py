"""In what precision a model computes, and casting its weights once instead of at every use."""

import contextlib

import keras
from keras import ops
from keras.src.backend import AutocastScope  # No public name has it; setup.cfg pins Keras.

PRECISIONS = ("float32", "bfloat16")


def set_precision(model, precision: str) -> None:
    """Makes a model compute in float32, or in bfloat16 as in mixed-precision training.

    Variables, logits, cell states, attention weights and scores are float32 either way.

    Args:
        model: `Captioner` or `Transformer`.
        precision: "float32" or "bfloat16".

    Raises:
        ValueError: unknown precision.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"Expected a precision of {PRECISIONS}. Received: {precision!r}")
    policy = "mixed_bfloat16" if precision == "bfloat16" else "float32"
    for layer in model._flatten_layers():
        layer.dtype_policy = policy
    if isinstance(logits := getattr(model.decoder, "logits", None), keras.layers.Layer):
        logits.dtype_policy = "float32"


def precision_of(model) -> str:
    """What the decoder of a model computes in: "float32" or "bfloat16"."""
    return model.decoder.compute_dtype


@contextlib.contextmanager
def cast_once(layer):
    """Inside, a layer computes as in its call, from weights that were cast once, here.

    Keras casts a float32 variable at each use, which in a decoding loop means at every step, and
    does so in layer calls only, which `start` and `step` are not. A tensor that was cast before
    the loop is a constant of the loop. Does nothing in float32.

    Args:
        layer: `CaptionDecoder`; layers in it that compute in float32 keep their variables.
    """
    precision = layer.compute_dtype
    if precision == "float32":
        yield
        return
    kept = [one for one in layer._flatten_layers() if one.compute_dtype != precision]
    kept = {id(variable) for one in kept for variable in one.weights}
    variables = [one for one in layer.weights if id(one) not in kept]
    values = [(one, ops.cast(one.value, precision)) for one in variables]
    with keras.StatelessScope(initialize_variables=False) as scope, AutocastScope(precision):
        for update in values:
            scope.add_update(update)
        yield
