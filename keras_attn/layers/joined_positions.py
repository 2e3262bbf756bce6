"""What layers that add positions to a sequence have in common."""

from keras import ops

from keras_attn.checks import check_choice, check_sizes
from keras_attn.layers.base_layer import BaseLayer

ADD, CONCATENATE = "add", "concatenate"


class JoinedPositions(BaseLayer):
    """Abstract: vectors of width P, `units` or the inputs', added to or concatenated with them."""

    def __init__(self, join=ADD, units=None, **kwargs):
        super().__init__(**kwargs)
        check_choice("join", join, (ADD, CONCATENATE))
        if units is not None:
            check_sizes(units=units)
        self.supports_masking = True
        self.join, self.units = join, units

    def build(self, inputs_shape):
        if len(inputs_shape) != 3:
            raise ValueError(
                f"Expected inputs of shape (B, T, D). Received: shape={tuple(inputs_shape)}"
            )
        width, units = inputs_shape[-1], self.units
        if self.join == ADD and units not in (None, width):
            raise ValueError(
                f"Expected units={width} to add to the inputs. Received: units={units}"
            )

    def joined(self, inputs, vectors):
        """inputs (B, T, D) with position vectors (T, P) or (B, T, P)."""
        vectors = ops.cast(vectors, inputs.dtype)
        if self.join == ADD:
            return inputs + vectors
        shape = (*tuple(ops.shape(inputs))[:2], vectors.shape[-1])
        return ops.concatenate([inputs, ops.broadcast_to(vectors, shape)], axis=-1)

    def compute_output_shape(self, inputs_shape):
        *leading, width = inputs_shape
        return (*leading, width if self.join == ADD else width + (self.units or width))
