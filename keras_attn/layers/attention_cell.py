"""Recurrent cells with attention."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.context_cell import as_context_cell
from keras_attn.layers.masked_layer import sequence_mask
from keras_attn.layers.scored_attention import ScoredAttention
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.scan import scan


class AttentionMemory(NamedTuple):
    """What every step reads; leads with B.

    Attributes:
        values: float (B, S, F).
        keys: float (B, S, A), projected.
        mask: bool (B, S).
    """

    values: Any
    keys: Any
    mask: Any


class AttentionState(NamedTuple):
    """State of an `AttentionCell`; leads with N = B·K.

    Attributes:
        time: int32 (N,). Steps taken.
        attended: float (N, U). The last output ã.
        hidden: float (N, H). The wrapped cell's last output.
        cell: tuple of tensors (N, ...). The wrapped cell's state.
    """

    time: Any
    attended: Any
    hidden: Any
    cell: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionCell(BaseLayer):
    """Any RNN cell with any attention: a cell for `keras.layers.RNN`.

    With the attention after the cell (Luong et al.), and input feeding:

        h_t, s_t = cell([x_t; ã_{t−1}], s_{t−1}),  c_t = attention(h_t),  ã_t = tanh(W [c_t; h_t])

    With `attend_first` (Bahdanau et al.) the context is an input of the cell:

        c_t = attention(h_{t−1}),  h_t, s_t = cell([x_t; c_t], s_{t−1}),  ã_t = tanh(W [c_t; h_t])

    The output is ã_t. The memory enters as part of the initial state, which `initial_state` makes;
    nothing is stored on the layer. `unroll` gives the weights of every step beside the outputs.
    Decoders that search use `read`, `first`, `project` and `step`, which are the same equations on
    named states.

    Args:
        cell: an RNN cell of Keras, such as `keras.layers.LSTMCell(7)` or a `StackedRNNCells`, or
            `ContextLSTMCell`, `ContextGRUCell` or `StackedContextCells`, whose inputs are projected
            before the loop.
        attention: a `ScoredAttention` layer, such as `AdditiveAttention(5)`.
        units: int > 0 or None. Width U of the output ã; None: that of the cell.
        input_feeding: bool. Whether the last output is an input of the next step.
        attend_first: bool. See above; then the context takes the place of input feeding.
        dtype: Keras policy. By default float64 if that is the global policy, otherwise float32:
            `keras.layers.RNN` casts the whole state, memory and time included, to the cell's
            compute dtype.

    Call arguments:
        inputs: float (B, E).
        states: list of tensors, as of `initial_state`.

    Returns:
        output: float (B, U).
        states: the next list.

    Raises:
        ValueError: not a cell, a cell with its own dropout, no `ScoredAttention`, or units < 1.

    Example:
        >>> from keras_attn.layers import AdditiveAttention
        >>> cell = AttentionCell(keras.layers.LSTMCell(7), AdditiveAttention(5))
        >>> rnn = keras.layers.RNN(cell, return_sequences=True)
        >>> source, inputs = ops.ones((2, 11, 3)), ops.ones((2, 13, 5))
        >>> tuple(rnn(inputs, initial_state=cell.initial_state(source)).shape)
        (2, 13, 7)

    Source: Luong et al. 2015, arXiv:1508.04025, 3 and 3.3; Bahdanau et al. 2015, arXiv:1409.0473.
    Differs from the latter: ã in the place of its deep maxout output.
    """

    def __init__(
        self, cell, attention, units=None, input_feeding=True, attend_first=False, **kwargs
    ):
        exact = keras.config.dtype_policy().compute_dtype == "float64"
        super().__init__(**{"dtype": "float64" if exact else "float32", **kwargs})
        if not isinstance(attention, ScoredAttention):
            raise ValueError(f"Expected a ScoredAttention layer. Received: attention={attention!r}")
        self.cell = as_context_cell(cell, self.dtype_policy)
        self.attention = attention
        if units is not None:
            check_sizes(units=units)
        self.units = self.output_size = self.cell.units if units is None else units
        self.input_feeding = check_flag("input_feeding", input_feeding)
        self.attend_first = check_flag("attend_first", attend_first)
        self.combine = keras.layers.Dense(
            self.units, "tanh", use_bias=False, name="combine", dtype=self.dtype_policy
        )
        self.opening = _Opening(
            attention,
            self.state_sizes,
            3 + self.cell.top_state,
            name="opening",
            dtype=self.dtype_policy,
        )

    @property
    def state_sizes(self):
        """Widths of time, ã, h and the parts of the wrapped cell's state."""
        return (1, self.units, self.cell.units, *self.cell.state_sizes)

    @property
    def state_size(self):
        """Widths of the states in `keras.layers.RNN`; the memory's are those of its last axes."""
        width = self._value_width() if self.combine.built else 1
        return [*self.state_sizes, width, width, 1]

    def _value_width(self):
        """F, of a cell that has met its memory."""
        return self.combine.kernel.shape[0] - self.cell.units

    def build(self, input_shape, value_shape=None):
        if value_shape is not None:
            self._meet(value_shape)
        if not self.combine.built:
            raise ValueError(
                "Expected a memory, as in rnn(inputs, initial_state=cell.initial_state(value)). "
                "Received: no initial_state"
            )
        fed = self.units if self.input_feeding else None
        fed = self._value_width() if self.attend_first else fed
        if not self.cell.built:
            self.cell.build((None, input_shape[-1]), None if fed is None else (None, fed))

    def _meet(self, value_shape):
        """Builds what reads a memory of this shape (B, S, F)."""
        if not self.attention.built:
            self.attention.build((None, None, self.cell.units), tuple(value_shape))
        if not self.combine.built:
            self.combine.build((None, value_shape[-1] + self.cell.units))

    def get_build_config(self):
        shape = (None, None, self._value_width()) if self.combine.built else None
        return {**(super().get_build_config() or {}), "value_shape": shape}

    def build_from_config(self, config):
        shape = config.get("input_shape") or (config.get("shapes_dict") or {}).get("input_shape")
        if shape is not None and config.get("value_shape") is not None:
            self.build(tuple(shape), tuple(config["value_shape"]))

    def initial_state(self, value, cell_state=None, value_mask=None):
        """Initial state for `keras.layers.RNN`, with the memory in it.

        Args:
            value: float (B, S, F). The encoder's outputs.
            cell_state: list of float (B, H): the wrapped cell's initial state; None: zeros.
            value_mask: bool (B, S); True = attend. The mask that the value carries is respected
                too.

        Returns:
            list of tensors.

        Raises:
            ValueError: a policy other than float32 and float64, or another number of states.
        """
        if self.compute_dtype not in ("float32", "float64"):
            raise ValueError(
                "Expected a cell that computes in float32 or float64 inside keras.layers.RNN. "
                f"Received: dtype={self.compute_dtype}"
            )
        with keras.name_scope(self.name):
            self._meet(value.shape)
        count = len(self.cell.state_sizes)
        if cell_state is not None and len(cell_state) != count:
            raise ValueError(f"Expected {count} cell states. Received: {len(cell_state)}")
        return list(self.opening(value, cell_state, value_mask=value_mask))

    def get_initial_state(self, batch_size=None):
        """Raises ValueError: the memory is needed; see `initial_state`."""
        raise ValueError(
            "Expected a memory, as in rnn(inputs, initial_state=cell.initial_state(value)). "
            "Received: no initial_state"
        )

    def unroll(self, inputs, initial_state):
        """What `keras.layers.RNN(self, return_sequences=True)` answers, with the weights.

        There is no mask of the inputs: what follows a sequence's end has no meaning.

        Args:
            inputs: float (B, T, E), T ≥ 1.
            initial_state: list of tensors, as of `initial_state`.

        Returns:
            outputs: float (B, T, U).
            weights: float32 (B, T, S), of every step.

        Example:
            >>> from keras_attn.layers import AdditiveAttention
            >>> cell = AttentionCell(keras.layers.LSTMCell(7), AdditiveAttention(5))
            >>> state = cell.initial_state(ops.ones((2, 11, 3)))
            >>> outputs, weights = cell.unroll(ops.ones((2, 13, 5)), state)
            >>> tuple(outputs.shape), tuple(weights.shape)
            ((2, 13, 7), (2, 13, 11))
        """
        if not self.built:
            self.build(inputs.shape)

        def step(states, column):
            output, weights, states = self._advance(column, states)
            return tuple(states), (output, weights)

        columns = ops.transpose(ops.cast(inputs, self.compute_dtype), (1, 0, 2))
        _, outputs = scan(step, tuple(initial_state), columns)
        return tuple(ops.transpose(rows, (1, 0, 2)) for rows in outputs)

    def call(self, inputs, states):
        output, _, states = self._advance(inputs, states)
        return output, states

    def _advance(self, inputs, states):
        """`step` on the list of states that `keras.layers.RNN` carries."""
        count = len(self.state_sizes)
        time, attended, hidden, *cell = states[:count]
        values, keys, mask = states[count:]
        memory = AttentionMemory(values, keys, mask[..., 0] > 0.5)
        cell = self.cell.state_of(cell)
        state = AttentionState(ops.cast(time[:, 0], "int32"), attended, hidden, cell)
        output, weights, state = self.step(self.project(inputs), memory, state, width=1)
        after = [state.time[:, None], output, state.hidden, *state.cell]
        after = [*(ops.cast(part, time.dtype) for part in after), values, keys, mask]
        return output, weights, after

    def read(self, value, value_mask=None):
        """`AttentionMemory` of an encoder's outputs.

        Args:
            value: float (B, S, F).
            value_mask: bool (B, S); None: all are real.
        """
        value = zero_masked(ops.cast(value, self.compute_dtype), value_mask)
        if value_mask is None:
            value_mask = ops.ones(ops.shape(value)[:2], "bool")
        return AttentionMemory(value, self.attention.project_keys(value), value_mask)

    def first(self, parts):
        """`AttentionState` before the first step, from the cell's initial state.

        Args:
            parts: float (N, H) for each of the wrapped cell's `state_sizes`.
        """
        cell = self.cell.state_of(parts)
        hidden = ops.cast(parts[self.cell.top_state], self.compute_dtype)
        attended = ops.zeros((ops.shape(hidden)[0], self.units), self.compute_dtype)
        return AttentionState(ops.zeros_like(hidden[:, 0], dtype="int32"), attended, hidden, cell)

    def project(self, inputs):
        """What can be computed of inputs (..., E) before the loop."""
        return self.cell.project(inputs)

    def step(self, projected, memory, state, width=None, draw=None):
        """One step.

        Args:
            projected: float (N, ...), of `project`. N = B·K: the K rows of an example are
                neighbors.
            memory: `AttentionMemory` of B examples.
            state: `AttentionState`.
            width: int or None. K, where it is known: small products are faster then.
            draw: one step of the random numbers of a `SampledAttention`, in training.

        Returns:
            output: float (N, U). ã_t.
            weights: float32 (N, S).
            state: `AttentionState`.
        """
        if self.attend_first:
            context, weights = self._attend(memory, state.hidden, state.time, width, draw)
            hidden, cell = self.cell.step(projected, context, state.cell)
        else:
            fed = state.attended if self.input_feeding else None
            hidden, cell = self.cell.step(projected, fed, state.cell)
            context, weights = self._attend(memory, hidden, state.time, width, draw)
        output = self.combine(ops.concatenate([context, hidden], axis=-1))
        return output, weights, AttentionState(state.time + 1, output, hidden, cell)

    def _attend(self, memory, query, time, width, draw):
        """Context (N, F) and weights (N, S) of queries (N, H)."""
        batch = ops.shape(memory.values)[0]
        width = -1 if width is None else width
        query = ops.cast(query, memory.values.dtype)  # The wrapped cell may have its own policy.
        query = ops.reshape(query, (batch, width, query.shape[-1]))
        sampling = {} if draw is None else {"draw": draw}
        context, weights = self.attention.attend(
            query,
            memory.keys,
            memory.values,
            memory.mask[:, None, :],
            ops.reshape(time, (batch, width)),
            **sampling,
        )
        keys = ops.shape(weights)[-1]
        context = ops.reshape(context, (-1, memory.values.shape[-1]))
        return ops.cast(context, self.compute_dtype), ops.reshape(weights, (-1, keys))


@keras.saving.register_keras_serializable(package="keras_attn")
class _Opening(BaseLayer):
    """From a memory to the initial state of `keras.layers.RNN`, as a layer of its own.

    So functional models can be saved: what it computes is part of their graph.

    Args:
        attention: the cell's.
        state_sizes: the cell's.
        top: index of the state that is the wrapped cell's output.
    """

    def __init__(self, attention, state_sizes, top, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.state_sizes, self.top = attention, tuple(state_sizes), top

    def build(self, value_shape, cell_state_shape=None):
        if not self.attention.built:
            self.attention.build((None, None, self.state_sizes[2]), tuple(value_shape))

    def call(self, value, cell_state=None, value_mask=None, mask=None):
        mask = sequence_mask(value, value_mask=value_mask, mask=mask)
        value = zero_masked(value, mask)
        real = zero_masked(ops.ones_like(value[..., :1]), mask)
        parts = [ops.zeros((ops.shape(value)[0], size), value.dtype) for size in self.state_sizes]
        if cell_state is not None:
            parts[3:] = [ops.cast(part, value.dtype) for part in cell_state]
            parts[2] = parts[self.top]
        return *parts, value, self.attention.project_keys(value), real

    def compute_mask(self, *args, **kwargs):
        """None: the mask is one of the states."""
        return None
