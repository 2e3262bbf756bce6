"""An LSTM cell for decoders with attention."""

import keras
from keras import ops

from keras_attn.layers.gated_context_cell import GatedContextCell
from keras_attn.ops.recurrent import lstm_step


@keras.saving.register_keras_serializable(package="keras_attn")
class ContextLSTMCell(GatedContextCell):
    """LSTM cell that reads a context beside its input.

        h_t, c_t = LSTM([x_t; z_t], h_{t−1}, c_{t−1})

    The input's part of the gates does not depend on the state: `project` computes it for all steps
    before the loop. The cell state is float32 in any precision.

    Args:
        units: int > 0. H.
        forget_bias: float. Added to the forget gate.

    Example:
        >>> cell = ContextLSTMCell(7)
        >>> cell.build((None, 5), (None, 3))
        >>> state = (ops.zeros((2, 7)), ops.zeros((2, 7)))
        >>> hidden, state = cell.step(cell.project(ops.ones((2, 5))), ops.ones((2, 3)), state)
        >>> tuple(hidden.shape), len(state)
        ((2, 7), 2)

    Source: see `ops.recurrent.lstm_step`.
    """

    gates, hidden_bias = 4, False

    def __init__(self, units, forget_bias=1.0, **kwargs):
        super().__init__(units, **kwargs)
        self.forget_bias, self.state_sizes = forget_bias, (units, units)

    def state_of(self, parts):
        """The initial state from tensors (N, H), one for each of `state_sizes`."""
        hidden, cell = parts
        return ops.cast(hidden, self.compute_dtype), ops.cast(cell, "float32")

    def step(self, projected, context, state):
        """One step.

        Args:
            projected: float (N, 4H), of `project`.
            context: float (N, F), or None for a cell without one.
            state: (hidden (N, H), cell float32 (N, H)).

        Returns:
            output: compute dtype (N, H).
            state: the next state.
        """
        hidden, cell = state
        gates = self.with_context(projected, context) + self.hidden_gates(hidden)
        hidden, cell = lstm_step(gates, cell, self.forget_bias)
        hidden = ops.cast(hidden, self.compute_dtype)
        return hidden, (hidden, cell)
