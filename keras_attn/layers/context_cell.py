"""Keras' recurrent cells for decoders with attention."""

import functools

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.gated_context_cell import GatedContextCell
from keras_attn.layers.stacked_context_cells import StackedContextCells
from keras_attn.ops.allow_empty_batch import allow_empty_batch


@keras.saving.register_keras_serializable(package="keras_attn")
class ContextCell(BaseLayer):
    """A Keras RNN cell over the concatenation of its input and a context.

        output_t, state_t = cell([x_t; z_t], state_{t−1})

    No part of it can be computed before the loop, so it is slower than `ContextLSTMCell` and
    `ContextGRUCell`. States are float32 in any precision.

    Args:
        cell: of `keras.layers`, such as `LSTMCell(7)`, `SimpleRNNCell(7)` or a `StackedRNNCells`.

    Raises:
        ValueError: not a cell, or a cell with its own dropout, which outside of Keras' `RNN` would
            reuse one mask for all batches.

    Example:
        >>> cell = ContextCell(keras.layers.GRUCell(7))
        >>> cell.build((None, 5), (None, 3))
        >>> state = (ops.zeros((2, 7)),)
        >>> hidden, state = cell.step(cell.project(ops.ones((2, 5))), ops.ones((2, 3)), state)
        >>> tuple(hidden.shape), len(state)
        ((2, 7), 1)
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(cell, keras.layers.Layer) or not hasattr(cell, "state_size"):
            raise ValueError(
                f"Expected a recurrent cell, such as keras.layers.LSTMCell(7). Received: {cell!r}"
            )
        for part in getattr(cell, "cells", [cell]):
            rates = [getattr(part, name, 0) for name in ("dropout", "recurrent_dropout")]
            if any(rates):
                raise ValueError(
                    "Expected a cell without its own dropout. Received: "
                    f"{type(part).__name__} with dropout={rates[0]}, recurrent_dropout={rates[1]}"
                )
        self.cell = cell
        self.state_sizes = tuple(keras.tree.flatten(cell.state_size))
        lower = getattr(cell, "cells", [cell])[:-1]
        self.top_state = sum(len(keras.tree.flatten(part.state_size)) for part in lower)
        self.units = cell.output_size

    def build(self, input_shape, context_shape=None):
        width = input_shape[-1] + (0 if context_shape is None else context_shape[-1])
        if not self.cell.built:
            self.cell.build((None, width))

    def project(self, inputs):
        """The inputs as they are."""
        return inputs

    def state_of(self, parts):
        """The initial state from tensors (N, H), one for each of `state_sizes`."""
        return tuple(ops.cast(part, "float32") for part in parts)

    def step(self, projected, context, state):
        """One step.

        Args:
            projected: float (N, E), of `project`.
            context: float (N, F), or None for a cell without one.
            state: tuple of float32 (N, H).

        Returns:
            output: compute dtype (N, H).
            state: the next state.
        """
        inputs = projected
        if context is not None:
            inputs = ops.concatenate([projected, ops.cast(context, projected.dtype)], axis=-1)
        dtype = self.cell.compute_dtype
        leaves = [ops.cast(leaf, dtype) for leaf in state]
        structured = keras.tree.pack_sequence_as(self.cell.state_size, leaves)
        structured = [structured] if len(leaves) == 1 else structured
        step = self.cell
        if inputs.shape[0] == 0:  # Keras' LSTM cell then mistakes its first product for a bias.
            step = functools.partial(allow_empty_batch, step)
        output, after = step(inputs, structured)
        after = tuple(ops.cast(leaf, "float32") for leaf in keras.tree.flatten(after))
        return ops.cast(output, self.compute_dtype), after

    def call(self, inputs, context, state):
        """`step` of inputs that are not projected yet."""
        return self.step(self.project(inputs), context, state)


def is_context_cell(cell) -> bool:
    """Whether a cell already takes its input and a context apart."""
    return isinstance(cell, GatedContextCell | ContextCell | StackedContextCells)


def as_context_cell(cell, dtype):
    """A cell that takes its input and a context apart: the cell itself, or one around it.

    Args:
        cell: any Keras cell, or a context cell.
        dtype: dtype or policy of the cell around it.

    Raises:
        ValueError: not a cell, or one with dropout of its own.
    """
    return cell if is_context_cell(cell) else ContextCell(cell, dtype=dtype)
