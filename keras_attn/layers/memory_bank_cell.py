"""Recurrent cells with a bank of learned slots."""

import keras

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.context_cell import as_context_cell
from keras_attn.layers.memory_bank import MemoryBank


@keras.saving.register_keras_serializable(package="keras_attn")
class MemoryBankCell(BaseLayer):
    """Any RNN cell that reads a bank of slots at each step: a cell for `keras.layers.RNN`.

        c_t = bank(h_{t−1}),  h_t, s_t = cell([x_t; c_t], s_{t−1})

    Args:
        cell: an RNN cell of Keras, such as `keras.layers.LSTMCell(7)` or a `StackedRNNCells`, or
            `ContextLSTMCell`, `ContextGRUCell` or `StackedContextCells`, whose inputs can be
            projected before the loop.
        bank: `MemoryBank`.
        dtype: Keras policy, float32 by default whatever the global policy is: `keras.layers.RNN`
            casts the whole state to the cell's compute dtype.

    Call arguments:
        inputs: float (B, E).
        states: list of float (B, H).

    Returns:
        output: float (B, H).
        states: the next list.

    Raises:
        ValueError: not a cell, a cell with its own dropout, or no MemoryBank.

    Example:
        >>> from keras import ops
        >>> cell = MemoryBankCell(keras.layers.LSTMCell(7), MemoryBank((11,), 3))
        >>> tuple(keras.layers.RNN(cell)(ops.ones((2, 13, 5))).shape)
        (2, 7)

    Source: Asghar et al. 2020, arXiv:1811.00239, 3.1.
    """

    def __init__(self, cell, bank, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})
        if not isinstance(bank, MemoryBank):
            raise ValueError(f"Expected a MemoryBank. Received: bank={bank!r}")
        self.cell = as_context_cell(cell, self.dtype_policy)
        self.bank = bank
        self.units = self.output_size = self.cell.units
        self.state_size = list(self.cell.state_sizes)

    def build(self, input_shape):
        if not self.bank.built:
            self.bank.build((None, self.units))
        if not self.cell.built:
            self.cell.build((None, input_shape[-1]), (None, self.bank.units))

    def call(self, inputs, states):
        state = self.cell.state_of(states)
        output, state = self.step(self.project(inputs), None, state)
        return output, list(state)

    def state_of(self, parts):
        """The initial state from tensors (B, H), one for each of `state_size`."""
        return self.cell.state_of(parts)

    def project(self, inputs):
        """What can be computed of inputs (..., E) before the loop."""
        return self.cell.project(inputs)

    def step(self, projected, context, state):
        """One step.

        Args:
            projected: float (B, ...), of `project`.
            context: None; the context is that of the bank.
            state: tuple of tensors (B, H), as of `state_of`.

        Returns:
            output: float (B, H).
            state: the next state.
        """
        return self.cell.step(projected, self.bank(state[self.cell.top_state]), state)
