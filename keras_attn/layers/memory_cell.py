"""What recurrent cells that write to a memory have in common."""

import math

import keras
from keras import ops

from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.context_cell import as_context_cell, is_context_cell


class MemoryCell(BaseLayer):
    """A controller, its interface to a memory, and the output.

        h_t = controller([x_t; r_{t−1}]),  ξ_t = W_ξ h_t + b_ξ,  y_t = W_y [h_t; r_t] + b_y

    `keras.layers.RNN` knows only states (B, n), a list of them. A subclass says how wide they are
    and makes its named state of them.

    Args:
        controller: an RNN cell, of Keras or a `ContextLSTMCell`, `ContextGRUCell` or
            `StackedContextCells`; or, without a state, any layer (B, E) -> (B, H).
        units: int > 0. U.
        num_slots: int > 0. N.
        slot_dim: int > 0. W.
        num_read_heads: int > 0. R.
        dtype: float32 or float64. Inside `keras.layers.RNN` the state has this dtype. float32 by
            default whatever the global policy is; the controller has its own policy. On JAX and
            PyTorch, Keras computes products and sums of float64 in float32.

    Raises:
        ValueError: no controller, a whole recurrent layer as the controller, a cell with its own
            dropout, a size < 1 or another dtype.
    """

    def __init__(self, controller, units, num_slots, slot_dim, num_read_heads, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})
        if self.compute_dtype not in ("float32", "float64"):
            raise ValueError(
                "Expected a memory in float32 or float64; the controller may have another policy. "
                f"Received: dtype={self.dtype_policy.name}"
            )
        self.units = self.output_size = units
        self.num_slots, self.slot_dim = num_slots, slot_dim
        self.num_read_heads = num_read_heads
        self.controller = _controller(controller, self.dtype_policy)
        self.recurrent = hasattr(self.controller, "state_sizes")
        self.controller_sizes = tuple(self.controller.state_sizes) if self.recurrent else ()

    def make_interface(self, parts):
        """Creates the layers of ξ and y, in the constructor.

        Args:
            parts: dict of name -> shape without B. The parts of ξ, in their order.
        """
        self.interface_parts, policy = parts, self.dtype_policy
        size = sum(math.prod(shape) for shape in parts.values())
        self.interface = keras.layers.Dense(size, name="interface", dtype=policy)
        self.readout = keras.layers.Dense(self.units, name="readout", dtype=policy)

    def build(self, input_shape):
        reads = self.num_read_heads * self.slot_dim
        width = input_shape[-1] + reads
        if self.recurrent:
            self.controller.build((None, input_shape[-1]), (None, reads))
            hidden = self.controller.units
        else:
            if not self.controller.built:
                self.controller.build((None, width))
            hidden = self.controller.compute_output_shape((None, width))[-1]
        self.interface.build((None, hidden))
        self.readout.build((None, hidden + reads))

    def control(self, inputs, reads, state):
        """One step of the controller.

        Args:
            inputs: float (B, E).
            reads: float (B, R, W). r_{t−1}.
            state: tuple of tensors. The controller's.

        Returns:
            hidden: float (B, H).
            parts: dict of name -> float (B, ...). The parts of ξ, before their nonlinearities.
            state: the next.
        """
        reads = ops.reshape(reads, (-1, self.num_read_heads * self.slot_dim))
        if self.recurrent:
            state = self.controller.state_of(state)
            hidden, state = self.controller.step(self.controller.project(inputs), reads, state)
            state = tuple(ops.cast(part, self.compute_dtype) for part in state)
        else:
            inputs = ops.cast(inputs, reads.dtype)
            hidden = self.controller(ops.concatenate([inputs, reads], axis=-1))
        hidden = ops.cast(hidden, self.compute_dtype)
        return hidden, self._split(self.interface(hidden)), state

    def respond(self, hidden, reads):
        """The output (B, U) of h (B, H) and r_t (B, R, W)."""
        reads = ops.reshape(reads, (-1, self.num_read_heads * self.slot_dim))
        return self.readout(ops.concatenate([hidden, reads], axis=-1))

    def first_controller_state(self, batch_size):
        """The controller's state before the first step: zeros."""
        return tuple(
            ops.zeros((batch_size, size), self.compute_dtype) for size in self.controller_sizes
        )

    @property
    def state_size(self):
        """Widths of the states in `keras.layers.RNN`."""
        return [math.prod(shape) for shape in self.state_shapes] + list(self.controller_sizes)

    def flatten(self, state):
        """The list for `keras.layers.RNN` of a named state."""
        leaves = self.leaves(state)
        flat = [ops.reshape(leaf, (-1, math.prod(leaf.shape[1:]))) for leaf in leaves]
        return [ops.cast(leaf, self.compute_dtype) for leaf in flat]

    def leaves(self, state):
        """Tuple of the tensors of a named state, for a loop that carries any shapes."""
        return *(part for part, _ in zip(state, self.state_shapes)), *state.controller

    def shaped(self, parts):
        """The parts of a named state before `controller`, and it, of that list or of `leaves`."""
        shapes = self.state_shapes
        leading = [ops.reshape(part, (-1, *shape)) for part, shape in zip(parts, shapes)]
        return *leading, tuple(parts[len(shapes) :])

    def weights_of(self, state):
        """The weights of a state.

        Returns:
            write: (B, H, N), with H heads that write.
            read: (B, R, N).
        """
        return state.write_weights, state.read_weights

    def call(self, inputs, states):
        output, state = self.step(inputs, self.state_of(states))
        return output, self.flatten(state)

    def _split(self, interface):
        parts, start = {}, 0
        for name, shape in self.interface_parts.items():
            end = start + math.prod(shape)
            parts[name] = ops.reshape(interface[:, start:end], (-1, *shape))
            start = end
        return parts


def _controller(controller, dtype):
    if not isinstance(controller, keras.layers.Layer) or isinstance(controller, keras.layers.RNN):
        raise ValueError(
            "Expected a controller: a recurrent cell, such as keras.layers.LSTMCell(7), or a "
            f"feed-forward layer, such as keras.layers.Dense(7). Received: {controller!r}"
        )
    feed_forward = not hasattr(controller, "state_size") and not is_context_cell(controller)
    return controller if feed_forward else as_context_cell(controller, dtype)
