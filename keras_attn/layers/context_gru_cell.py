"""A GRU cell for decoders with attention."""

import keras
from keras import ops

from keras_attn.layers.gated_context_cell import GatedContextCell
from keras_attn.ops.recurrent import gru_step


@keras.saving.register_keras_serializable(package="keras_attn")
class ContextGRUCell(GatedContextCell):
    """GRU cell that reads a context beside its input.

        h_t = GRU([x_t; z_t], h_{t−1})

    The input's part of the gates does not depend on the state: `project` computes it for all steps
    before the loop. The state is float32 in any precision.

    Args:
        units: int > 0. H.

    Example:
        >>> cell = ContextGRUCell(7)
        >>> cell.build((None, 5), (None, 3))
        >>> state = (ops.zeros((2, 7)),)
        >>> hidden, state = cell.step(cell.project(ops.ones((2, 5))), ops.ones((2, 3)), state)
        >>> tuple(hidden.shape), len(state)
        ((2, 7), 1)

    Source: see `ops.recurrent.gru_step`.
    """

    gates, hidden_bias = 3, True

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.state_sizes = (units,)

    def state_of(self, parts):
        """The initial state from tensors (N, H), one for each of `state_sizes`."""
        return tuple(ops.cast(part, "float32") for part in parts)

    def step(self, projected, context, state):
        """One step.

        Args:
            projected: float (N, 3H), of `project`.
            context: float (N, F), or None for a cell without one.
            state: (hidden float32 (N, H),).

        Returns:
            output: compute dtype (N, H).
            state: the next state.
        """
        (hidden,) = state
        inputs = self.with_context(projected, context)
        hidden = gru_step(inputs, self.hidden_gates(hidden), hidden)
        return ops.cast(hidden, self.compute_dtype), (hidden,)
