"""The Differentiable Neural Computer as a recurrent cell."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.memory_cell import MemoryCell
from keras_attn.ops.dynamic_memory import (
    allocation_weights,
    follow_links,
    memory_usage,
    temporal_links,
    write_precedence,
)
from keras_attn.ops.memory_addressing import content_weights, read_memory, write_memory
from keras_attn.ops.sparse_links import SparseLinks, follow_sparse_links, sparse_temporal_links


class DNCState(NamedTuple):
    """State of a `DNCCell`; float32, or float64 in a float64 cell.

    Attributes:
        memory: (B, N, W).
        usage: (B, N).
        links: (B, N, N). How much slot i was written right after slot j; with `max_links` the
            strongest of them, (B, N, K).
        precedence: (B, N). How much a slot was the last one written.
        write_weights: (B, 1, N).
        read_weights: (B, R, N).
        reads: (B, R, W). What was read last.
        link_sources: int32 (B, N, K), the slots j of the strongest links; None without `max_links`.
        controller: tuple of tensors (B, ...).
    """

    memory: Any
    usage: Any
    links: Any
    precedence: Any
    write_weights: Any
    read_weights: Any
    reads: Any
    link_sources: Any
    controller: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class DNCCell(MemoryCell):
    """Differentiable Neural Computer: a cell for `keras.layers.RNN`.

        h_t = controller([x_t; r_{t−1}])
        u_t: usage after the last write and what the free gates release;  a = allocation(u_t)
        w = g_w (g_a a + (1 − g_a) content(k, β, M_{t−1}))
        M_t = M_{t−1} (1 − w e) + w v,  L_t: links between slots written in succession
        w_r = π_b L_tᵀ w_{r,t−1} + π_c content(k_r, β_r, M_t) + π_f L_t w_{r,t−1}
        r_t = w_r M_t,  y_t = W_y [h_t; r_t] + b_y

    The links take O(N²) time and memory a step. `MemoryRNN` returns the weights of every step.

    Args:
        controller: an RNN cell, of Keras or a `ContextLSTMCell`, `ContextGRUCell` or
            `StackedContextCells`; or, without a state, any layer (B, E) -> (B, H).
        units: int > 0. Width U of the output.
        num_slots: int > 0. N.
        slot_dim: int > 0. W.
        num_read_heads: int > 0. R. The one write head is the paper's.
        max_links: int from 1 to N, or None. Every slot keeps its K strongest links, see
            `ops.sparse_temporal_links`, in O(N K²) a step: for large memories. None: all, exactly.
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
            dropout, a size < 1, too many links or another dtype.

    Example:
        >>> cell = DNCCell(keras.layers.LSTMCell(7), 3, num_slots=11, slot_dim=5)
        >>> tuple(keras.layers.RNN(cell, return_sequences=True)(ops.ones((2, 13, 3))).shape)
        (2, 13, 3)

    Source: Graves et al. 2016, "Hybrid computing using a neural network with dynamic external
    memory", Nature 538. Differs: see `ops.cosine_similarity` and `ops.allocation_weights`; all
    layers have a bias.
    """

    def __init__(
        self,
        controller,
        units,
        num_slots=128,
        slot_dim=20,
        num_read_heads=1,
        max_links=None,
        **kwargs,
    ):
        check_sizes(
            units=units, num_slots=num_slots, slot_dim=slot_dim, num_read_heads=num_read_heads
        )
        if max_links is not None:
            check_sizes(max_links=max_links)
            if max_links > num_slots:
                raise ValueError(
                    f"Expected max_links <= num_slots. Received: max_links={max_links}, "
                    f"num_slots={num_slots}"
                )
        super().__init__(controller, units, num_slots, slot_dim, num_read_heads, **kwargs)
        self.max_links = max_links
        self.make_interface(
            {
                "read_keys": (num_read_heads, slot_dim),
                "read_strengths": (num_read_heads,),
                "write_key": (1, slot_dim),
                "write_strength": (1,),
                "erased": (1, slot_dim),
                "added": (1, slot_dim),
                "free_gates": (num_read_heads,),
                "allocation_gate": (1,),
                "write_gate": (1,),
                "read_modes": (num_read_heads, 3),
            }
        )

    @property
    def state_shapes(self):
        """Shapes of the parts of `DNCState`, without B."""
        slots, width, readers = self.num_slots, self.slot_dim, self.num_read_heads
        links = (slots, self.max_links or slots)
        heads = (1, slots), (readers, slots), (readers, width)
        sources = () if self.max_links is None else (links,)
        return (slots, width), (slots,), links, (slots,), *heads, *sources

    @property
    def weight_shapes(self):
        """Shapes of the weights of `weights_of`, without B."""
        return self.state_shapes[4:6]

    def get_initial_state(self, batch_size=None):
        """The states before the first step, for `keras.layers.RNN`: zeros, and any sources.

        Args:
            batch_size: int or scalar tensor.
        """
        parts = [ops.zeros((batch_size, size), self.compute_dtype) for size in self.state_size]
        if self.max_links is not None:
            place = DNCState._fields.index("link_sources")
            sources = ops.arange(self.max_links, dtype=self.compute_dtype)
            parts[place] = parts[place] + ops.tile(sources, self.num_slots)
        return parts

    def state_of(self, parts):
        """`DNCState` of the list that `keras.layers.RNN` carries, or of `leaves`."""
        *parts, controller = self.shaped(parts)
        sources = None if self.max_links is None else ops.cast(parts.pop(), "int32")
        return DNCState(*parts, sources, controller)

    def step(self, inputs, state):
        """One step.

        Args:
            inputs: float (B, E).
            state: `DNCState`.

        Returns:
            output: float (B, U).
            state: `DNCState`.
        """
        hidden, heads, controller = self.control(inputs, state.reads, state.controller)
        free_gates, last = ops.sigmoid(heads["free_gates"]), state.write_weights[:, 0]
        usage = memory_usage(state.usage, last, state.read_weights, free_gates)
        write = self._write_weights(heads, state.memory, usage)
        memory = write_memory(
            state.memory, write[:, None], ops.sigmoid(heads["erased"]), heads["added"]
        )
        links, sources, moved = self._link(state, write)
        precedence = write_precedence(state.precedence, write)
        read = self._read_weights(heads, memory, *moved)
        reads = read_memory(memory, read)
        weights = write[:, None], read
        state = DNCState(memory, usage, links, precedence, *weights, reads, sources, controller)
        return self.respond(hidden, reads), state

    def _write_weights(self, heads, memory, usage):
        """(B, N)."""
        strength = 1 + ops.softplus(heads["write_strength"])
        content = content_weights(heads["write_key"], strength, memory)[:, 0]
        allocation = ops.sigmoid(heads["allocation_gate"])
        weights = allocation * allocation_weights(usage) + (1 - allocation) * content
        return ops.sigmoid(heads["write_gate"]) * weights

    def _link(self, state, write):
        """The next links, their sources, and the last read weights moved on and back along them."""
        if self.max_links is None:
            links = temporal_links(state.links, state.precedence, write)
            return links, None, follow_links(links, state.read_weights)
        links = SparseLinks(state.links, state.link_sources)
        links = sparse_temporal_links(links, state.precedence, write)
        return *links, follow_sparse_links(links, state.read_weights)

    def _read_weights(self, heads, memory, forward, backward):
        """(B, R, N)."""
        strengths = 1 + ops.softplus(heads["read_strengths"])
        content = content_weights(heads["read_keys"], strengths, memory)
        modes = ops.softmax(heads["read_modes"])
        return modes[..., :1] * backward + modes[..., 1:2] * content + modes[..., 2:] * forward
