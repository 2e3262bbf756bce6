"""A stack of recurrent cells, the lowest of which reads a context."""

import keras

from keras_attn.checks import check_flag
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.gated_context_cell import GatedContextCell


@keras.saving.register_keras_serializable(package="keras_attn")
class StackedContextCells(BaseLayer):
    """Recurrent layers on top of each other, with residual connections between them.

        h¹_t = cell¹(x_t, z_t),  hˡ_t = hˡ⁻¹_t + cellˡ(hˡ⁻¹_t)

    Args:
        cells: list of `ContextLSTMCell` or `ContextGRUCell`, from the lowest to the top one.
        residual: bool. Whether a layer's output is added to its input.

    Raises:
        ValueError: no cells, other cells, or residual connections between widths that differ.

    Example:
        >>> from keras import ops
        >>> from keras_attn.layers import ContextGRUCell
        >>> cell = StackedContextCells([ContextGRUCell(7), ContextGRUCell(7)])
        >>> cell.build((None, 5), (None, 3))
        >>> state = (ops.zeros((2, 7)), ops.zeros((2, 7)))
        >>> hidden, state = cell.step(cell.project(ops.ones((2, 5))), ops.ones((2, 3)), state)
        >>> tuple(hidden.shape), len(state)
        ((2, 7), 2)

    Source: residual connections as in Wu et al. 2016, arXiv:1609.08144, 3.1.
    """

    def __init__(self, cells, residual=True, **kwargs):
        super().__init__(**kwargs)
        if not cells or not all(isinstance(cell, GatedContextCell) for cell in cells):
            raise ValueError(
                "Expected cells such as ContextLSTMCell or ContextGRUCell. "
                f"Received: cells={cells!r}"
            )
        self.cells, self.residual = list(cells), check_flag("residual", residual)
        widths = [cell.units for cell in cells]
        if residual and len(set(widths)) > 1:
            raise ValueError(f"Expected cells of one width for residual. Received: {widths}")
        self.units = widths[-1]
        self.state_sizes = tuple(size for cell in cells for size in cell.state_sizes)
        self.top_state = len(self.state_sizes) - len(self.cells[-1].state_sizes)

    def build(self, input_shape, context_shape=None):
        first, *upper = self.cells
        if not first.built:
            first.build(input_shape, context_shape)
        for lower, cell in zip(self.cells, upper):
            if not cell.built:
                cell.build((None, lower.units))

    def project(self, inputs):
        """The lowest cell's part of the gates that inputs (..., E) determine."""
        return self.cells[0].project(inputs)

    def state_of(self, parts):
        """The initial state from tensors (N, H), one for each of `state_sizes`."""
        return tuple(part for cell, piece in self._by_cell(parts) for part in cell.state_of(piece))

    def step(self, projected, context, state):
        """One step.

        Args:
            projected: float (N, ...), of `project`.
            context: float (N, F), or None for a cell without one.
            state: tuple of tensors (N, H).

        Returns:
            output: compute dtype (N, H).
            state: the next state.
        """
        output, after = None, []
        for cell, cell_state in self._by_cell(state):
            if output is None:
                output, cell_state = cell.step(projected, context, cell_state)
            else:
                higher, cell_state = cell.step(cell.project(output), None, cell_state)
                output = output + higher if self.residual else higher
            after += cell_state
        return output, tuple(after)

    def call(self, inputs, context, state):
        """`step` of inputs that are not projected yet."""
        return self.step(self.project(inputs), context, state)

    def _by_cell(self, parts):
        start = 0
        for cell in self.cells:
            yield cell, tuple(parts[start : start + len(cell.state_sizes)])
            start += len(cell.state_sizes)
