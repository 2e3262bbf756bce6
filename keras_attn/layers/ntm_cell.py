"""The Neural Turing Machine as a recurrent cell."""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.memory_cell import MemoryCell
from keras_attn.ops.memory_addressing import (
    circular_shift,
    content_weights,
    interpolate,
    read_memory,
    sharpen,
    write_memory,
)

FIRST_MEMORY = 1e-6
FIRST_SCORE = 2.0
"""Logarithm of the odds that a head begins on the first slot."""


class NTMState(NamedTuple):
    """State of an `NTMCell`; float32, or float64 in a float64 cell.

    Attributes:
        memory: (B, N, W).
        write_weights: (B, H, N), of H write heads.
        read_weights: (B, R, N).
        reads: (B, R, W). What was read last.
        controller: tuple of tensors (B, ...).
    """

    memory: Any
    write_weights: Any
    read_weights: Any
    reads: Any
    controller: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class NTMCell(MemoryCell):
    """Neural Turing Machine: a cell for `keras.layers.RNN`.

        h_t = controller([x_t; r_{t−1}])
        w_t = sharpen(shift(g softmax(β cos(k, M)) + (1 − g) w_{t−1}, s), γ)   for every head
        M_t = M_{t−1} Π_h (1 − w_h e_h) + Σ_h w_h a_h,  r_t = w_t M_t
        y_t = W_y [h_t; r_t] + b_y

    The write heads address M_{t−1}, the read heads M_t. `MemoryRNN` returns the weights of every
    step.

    Args:
        controller: an RNN cell, of Keras or a `ContextLSTMCell`, `ContextGRUCell` or
            `StackedContextCells`; or, without a state, any layer (B, E) -> (B, H).
        units: int > 0. Width U of the output.
        num_slots: int ≥ 2 `max_shift` + 1. N.
        slot_dim: int > 0. W.
        num_read_heads, num_write_heads: int > 0.
        max_shift: int ≥ 0. How many slots a head moves at most in one step, either way.
        dtype: float32 (default) or float64: that of the state, whatever the global policy is. The
            controller has its own policy. On JAX and PyTorch, Keras computes products and sums of
            float64 in float32.

    Call arguments:
        inputs: float (B, E).
        states: list of float (B, n), as of `get_initial_state`.

    Returns:
        output: float (B, U).
        states: the next list.

    Raises:
        ValueError: no controller, a whole recurrent layer as the controller, a cell with its own
            dropout, a size < 1, too few slots for the shifts, or another dtype.

    Example:
        >>> cell = NTMCell(keras.layers.LSTMCell(7), 3, num_slots=11, slot_dim=5)
        >>> tuple(keras.layers.RNN(cell, return_sequences=True)(ops.ones((2, 13, 3))).shape)
        (2, 13, 3)

    Source: Graves et al. 2014, arXiv:1410.5401. The first memory is 10⁻⁶ everywhere, and keys and
    what is added pass a tanh, after Collier & Beel 2018, arXiv:1807.08518; the paper leaves these
    open. The first weights and reads are learned; the weights begin on the first slot.
    """

    def __init__(
        self,
        controller,
        units,
        num_slots=128,
        slot_dim=20,
        num_read_heads=1,
        num_write_heads=1,
        max_shift=1,
        **kwargs,
    ):
        check_sizes(
            units=units,
            num_slots=num_slots,
            slot_dim=slot_dim,
            num_read_heads=num_read_heads,
            num_write_heads=num_write_heads,
        )
        check_sizes(least=0, max_shift=max_shift)
        if num_slots < 2 * max_shift + 1:
            raise ValueError(
                f"Expected num_slots >= 2 * max_shift + 1. Received: num_slots={num_slots}, "
                f"max_shift={max_shift}"
            )
        super().__init__(controller, units, num_slots, slot_dim, num_read_heads, **kwargs)
        self.num_write_heads, self.max_shift = num_write_heads, max_shift
        heads = num_read_heads + num_write_heads
        self.make_interface(
            {
                "keys": (heads, slot_dim),
                "strengths": (heads,),
                "gates": (heads,),
                "shifts": (heads, 2 * max_shift + 1),
                "exponents": (heads,),
                "erased": (num_write_heads, slot_dim),
                "added": (num_write_heads, slot_dim),
            }
        )

    @property
    def state_shapes(self):
        """Shapes of the parts of `NTMState`, without B."""
        slots, width = self.num_slots, self.slot_dim
        readers, writers = self.num_read_heads, self.num_write_heads
        return (slots, width), (writers, slots), (readers, slots), (readers, width)

    def build(self, input_shape):
        super().build(input_shape)
        heads = self.num_read_heads + self.num_write_heads
        self.first_scores = self.add_weight(
            (heads, self.num_slots),
            _first_slot,
            name="first_scores",
        )
        self.first_reads = self.add_weight(
            (self.num_read_heads, self.slot_dim), "glorot_uniform", name="first_reads"
        )

    def get_initial_state(self, batch_size=None):
        """The states before the first step, for `keras.layers.RNN`.

        Args:
            batch_size: int or scalar tensor.
        """
        weights = ops.softmax(ops.cast(self.first_scores, self.compute_dtype))
        memory = ops.full((self.num_slots, self.slot_dim), FIRST_MEMORY, self.compute_dtype)
        write, read = weights[: self.num_write_heads], weights[self.num_write_heads :]
        reads = ops.cast(self.first_reads, self.compute_dtype)
        leading = [
            ops.broadcast_to(part[None], (batch_size, *part.shape))
            for part in (memory, write, read, reads)
        ]
        return self.flatten(NTMState(*leading, self.first_controller_state(batch_size)))

    def state_of(self, parts):
        """`NTMState` of the list that `keras.layers.RNN` carries, or of `leaves`."""
        return NTMState(*self.shaped(parts))

    def step(self, inputs, state):
        """One step.

        Args:
            inputs: float (B, E).
            state: `NTMState`.

        Returns:
            output: float (B, U).
            state: `NTMState`.
        """
        hidden, heads, controller = self.control(inputs, state.reads, state.controller)
        writers = self.num_write_heads
        write = self._address(heads, slice(0, writers), state.memory, state.write_weights)
        erased, added = ops.sigmoid(heads["erased"]), ops.tanh(heads["added"])
        memory = write_memory(state.memory, write, erased, added)
        read = self._address(heads, slice(writers, None), memory, state.read_weights)
        reads = read_memory(memory, read)
        return self.respond(hidden, reads), NTMState(memory, write, read, reads, controller)

    @property
    def weight_shapes(self):
        """Shapes of the weights of `weights_of`, without B."""
        return self.state_shapes[1:3]

    def _address(self, heads, chosen, memory, previous):
        """The weights (B, h, N) of some heads."""
        keys, strengths, gates, shifts, exponents = (
            heads[name][:, chosen] for name in ("keys", "strengths", "gates", "shifts", "exponents")
        )
        weights = content_weights(ops.tanh(keys), ops.softplus(strengths), memory)
        weights = interpolate(weights, previous, ops.sigmoid(gates))
        if self.max_shift:
            weights = circular_shift(weights, ops.softmax(shifts))
        return sharpen(weights, 1 + ops.softplus(exponents))


def _first_slot(shape, dtype=None):
    """Scores whose softmax is almost all on the first slot."""
    scores = np.zeros(shape, "float32")
    scores[..., 0] = FIRST_SCORE + np.log(shape[-1])
    return ops.convert_to_tensor(scores, dtype)
