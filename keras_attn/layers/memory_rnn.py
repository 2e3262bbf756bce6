"""The loop of a cell with a memory, and the weights of its heads over time."""

import math

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.masked_layer import sequence_mask
from keras_attn.layers.memory_cell import MemoryCell
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.recurrent import masked_recurrence


@keras.saving.register_keras_serializable(package="keras_attn")
class MemoryRNN(BaseLayer):
    """A cell with a memory over a sequence, with the weights of every step on request.

    `keras.layers.RNN(cell, return_sequences=True)` gives the same outputs. Where the mask is False
    the state stays as it is. The state has the cell's dtype in any precision.

    Args:
        cell: an `NTMCell` or a `DNCCell`.

    Call arguments:
        inputs: float (B, T, E).
        mask: bool (B, T); True = a step. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        outputs: float (B, T, U), compute dtype, with the mask of the inputs.
        write_weights: (B, T, H, N) of H write heads, in the cell's dtype; only where asked for.
        read_weights: (B, T, R, N) of R read heads; only where asked for.

    Raises:
        ValueError: another cell.

    Example:
        >>> from keras_attn.layers import NTMCell
        >>> rnn = MemoryRNN(NTMCell(keras.layers.LSTMCell(7), 3, num_slots=11, slot_dim=5))
        >>> outputs, write, read = rnn(ops.ones((2, 13, 3)), return_attention_scores=True)
        >>> tuple(outputs.shape), tuple(read.shape)
        ((2, 13, 3), (2, 13, 1, 11))
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(cell, MemoryCell):
            raise ValueError(f"Expected an NTMCell or a DNCCell. Received: cell={cell!r}")
        self.cell = cell

    def build(self, input_shape):
        if not self.cell.built:
            self.cell.build((input_shape[0], input_shape[-1]))

    def call(self, inputs, mask=None, return_attention_scores=False):
        mask = sequence_mask(inputs, mask=mask)
        cell, shapes = self.cell, self.cell.weight_shapes

        def step(inputs, _, parts):
            output, state = cell.step(inputs, cell.state_of(parts))
            weights = cell.weights_of(state) if return_attention_scores else ()
            flat = [ops.reshape(part, (-1, math.prod(part.shape[1:]))) for part in weights]
            return ops.concatenate([output, *flat], axis=-1), cell.leaves(state)

        # Flat states would cost XLA a division for every link, to find its row and column.
        first = cell.leaves(cell.state_of(cell.get_initial_state(ops.shape(inputs)[0])))
        inputs = zero_masked(ops.cast(inputs, cell.compute_dtype), mask)
        columns, _ = masked_recurrence(step, inputs, first, mask)
        outputs = ops.cast(columns[..., : cell.units], self.compute_dtype)
        if not return_attention_scores:
            return outputs
        weights, start = [], cell.units
        for heads, slots in shapes:
            part = columns[..., start : start + heads * slots]
            batch, steps = ops.shape(part)[:2]
            weights.append(ops.reshape(part, (batch, steps, heads, slots)))
            start += heads * slots
        return outputs, *weights

    def compute_mask(self, inputs, mask=None, return_attention_scores=False):
        """The mask of the inputs, for the outputs."""
        return (mask, None, None) if return_attention_scores else mask

    def compute_output_shape(self, input_shape):
        return *input_shape[:-1], self.cell.units

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)
