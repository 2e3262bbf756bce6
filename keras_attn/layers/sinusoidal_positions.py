"""Sinusoidal positions."""

import keras
from keras import ops

from keras_attn.layers.checked_layer import CheckedLayer
from keras_attn.layers.scored_attention import check_width
from keras_attn.ops.positions import positions_from, sinusoids

ADD, CONCATENATE = "add", "concatenate"


@keras.saving.register_keras_serializable(package="keras_attn")
class SinusoidalPositions(CheckedLayer):
    """Adds or concatenates the sinusoids of positions; see `ops.positions.sinusoids`.

    Args:
        join: "add" or "concatenate".
        units: int > 0 or None. Width of the sinusoids; None is the inputs' width D, which adding
            requires.

    Call arguments:
        inputs: float (B, T, D).
        start_index: int scalar or int (B,). Position of the first step.

    Returns:
        (B, T, D), or (B, T, D + units) concatenated; compute dtype, sinusoids taken in float32;
        with the inputs' mask.

    Raises:
        ValueError: another `join`; units < 1; units ≠ D with "add".

    Example:
        >>> tuple(SinusoidalPositions("concatenate", 4)(ops.zeros((2, 3, 5))).shape)
        (2, 3, 9)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.5.
    """

    def __init__(self, join=ADD, units=None, **kwargs):
        super().__init__(**kwargs)
        check_join(join, units)
        self.supports_masking = True
        self.join, self.units = join, units

    def build(self, inputs_shape):
        check_added(self.join, self.units, inputs_shape)

    def call(self, inputs, start_index=0):
        positions = positions_from(start_index, ops.shape(inputs)[1])
        return join_positions(
            inputs, sinusoids(positions, self.units or inputs.shape[-1]), self.join
        )

    def compute_output_shape(self, inputs_shape):
        return joined_shape(inputs_shape, self.join, self.units)

    def get_config(self):
        return {**super().get_config(), "join": self.join, "units": self.units}


def check_join(join, units):
    """Raises ValueError unless `join` is known and `units` are None or a width."""
    if join not in (ADD, CONCATENATE):
        raise ValueError(f"Expected join {ADD!r} or {CONCATENATE!r}. Received: join={join!r}")
    if units is not None:
        check_width("units", units)


def check_added(join, units, inputs_shape):
    """Raises ValueError for inputs that are not (B, T, D), or units that cannot be added."""
    if len(inputs_shape) != 3:
        raise ValueError(
            f"Expected inputs of shape (B, T, D). Received: shape={tuple(inputs_shape)}"
        )
    width = inputs_shape[-1]
    if join == ADD and units not in (None, width):
        raise ValueError(f"Expected units={width} to add to the inputs. Received: units={units}")


def joined_shape(inputs_shape, join, units):
    """Shape of `join_positions`."""
    *leading, width = inputs_shape
    return (*leading, width if join == ADD else width + (units or width))


def join_positions(inputs, vectors, join):
    """inputs (B, T, D) with position vectors (T, P) or (B, T, P), added or concatenated."""
    vectors = ops.cast(vectors, inputs.dtype)
    if join == ADD:
        return inputs + vectors
    shape = (*tuple(ops.shape(inputs))[:2], vectors.shape[-1])
    return ops.concatenate([inputs, ops.broadcast_to(vectors, shape)], axis=-1)
