"""Memories beside their slow twins: gradients, and the free list of a DNC where usages tie.

Each function asserts, on any backend; all of them run as a module,
`python -m tests.conformance.memories`. On JAX and PyTorch, Keras computes products and sums of
float64 in float32; here it is kept from it, so that a difference from the twin is a fault.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from keras import ops
from keras.src.backend.common import dtypes

from keras_attn.layers import (
    DNCCell,
    HybridAttention,
    MemoryBank,
    MemoryNetwork,
    MemoryRNN,
    MultiplicativeAttention,
    NTMCell,
)
from keras_attn.ops import allocation_weights
from tests.processes import compiled
from tests.reference import data_to_text, memory, memory_bank, memory_network
from tests.slopes import slopes

B, T, E, H, U, N, W, R = 2, 13, 3, 5, 7, 11, 5, 2
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(1, T, E))
CONTENTS = RANDOM.normal(size=(N, W))
STEP = 1e-6
"""Of the central differences."""


def keep_double_precision():
    """Lets float64 be float64 in this process, on every backend."""
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
    if keras.backend.backend() == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)


def array_of(tensor):
    """Its numbers in float64."""
    return ops.convert_to_numpy(tensor).astype("float64")


def filled(layer, scale):
    """A built layer, with weights that make its heads decide."""
    random = np.random.default_rng(5)
    for weight in layer.trainable_variables:
        weight.assign(scale * random.normal(size=weight.shape))
    return layer


# The free list


def computer(dtype):
    """A DNC whose controller has no state."""
    controller = keras.layers.Dense(H, "tanh", dtype=dtype)
    cell = DNCCell(controller, U, N, W, R, dtype=dtype)
    cell.build((None, E))
    return filled(cell, 1.0)


def run_computer(cell, first):
    """Outputs, write weights, read weights and usages of a cell over INPUTS, in float64."""
    state = cell.state_of(cell.get_initial_state(1))
    contents, usage = (ops.convert_to_tensor(part[None], cell.compute_dtype) for part in first)
    state, step, steps = state._replace(memory=contents, usage=usage), compiled(cell.step), []
    for t in range(T):
        output, state = step(ops.convert_to_tensor(INPUTS[:, t], cell.compute_dtype), state)
        parts = output, state.write_weights, state.read_weights, state.usage
        steps.append([array_of(part)[0] for part in parts])
    return [np.array(part) for part in zip(*steps)]


def twin_computer(cell, first, orders=None):
    """Outputs, write weights, read weights and usages of the twin."""
    controller, interface, readout = (
        [array_of(weight) for weight in layer.weights]
        for layer in (cell.controller, cell.interface, cell.readout)
    )

    def control(inputs, state):
        return memory.dense(inputs, state, *controller)

    outputs, writes, reads, states = memory.dnc(
        INPUTS[0], control, (), interface, readout, (N, W, R), first, orders
    )
    return outputs, writes, reads, np.array([state[1] for state in states])


def check_exact_ties(allocate):
    """Equal usages are ordered by slot, by `allocation_weights`, compiled or not."""
    usage = np.repeat([0.5, 0.25, 0.5], [3, 5, 3])
    expected = memory.allocation(usage, [*range(3, 8), 0, 1, 2, 8, 9, 10])
    for dtype in ("float32", "float64"):
        weights = allocate(ops.convert_to_tensor(usage[None], dtype))
        np.testing.assert_allclose(array_of(weights)[0], expected, atol=1e-7)


def check_near_ties():
    """Nearly equal usages are ordered otherwise in float32, and nothing else differs.

    The twin has the cell's numbers where it takes the cell's free lists; its own differ, so its
    outputs do, too.
    """
    for dtype, tolerance in (("float64", 1e-13), ("float32", 1e-5)):
        for spread in (0.1, 1e-9, 0.0):
            usage = 0.5 + spread * np.random.default_rng(7).normal(size=N)
            cell, first = computer(dtype), (CONTENTS, usage)
            got = run_computer(cell, first)
            orders = np.argsort(got[-1], axis=-1, kind="stable")
            for part, expected in zip(got, twin_computer(cell, first, orders), strict=True):
                np.testing.assert_allclose(part, expected, atol=tolerance)
            moved = np.abs(got[0] - twin_computer(cell, first)[0]).max()
            jumps = dtype == "float32" and spread == 1e-9
            assert moved > 1e-3 if jumps else moved < tolerance, (dtype, spread, moved)


def check_equal_histories():
    """Slots that have been written alike may change places: no output does.

    From zeros on, all slots but the first one written have the same history.
    """
    cell, first = computer("float32"), (np.zeros((N, W)), np.zeros(N))
    outputs, *weights, _ = run_computer(cell, first)
    expected, *twins, _ = twin_computer(cell, first)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    for part, wanted in zip(weights, twins, strict=True):
        np.testing.assert_allclose(np.sort(part), np.sort(wanted), atol=1e-6)


# Gradients


@dataclass(frozen=True)
class Row:
    """A layer with a memory.

    Attributes:
        make: builds it.
        arrays: of its call; gradients reach those of floats.
        twin: function of a list of weights and those arrays, to the outputs.
        options: further arguments of its call.
        tolerance: of a slope, relative to the norms of the gradient and of the direction.
    """

    make: Callable[[], keras.layers.Layer]
    arrays: tuple[Any, ...]
    twin: Callable[..., list]
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5


def _lstm():
    return keras.layers.LSTMCell(H, dtype="float64")


def _over_time(twin, weights, inputs, first, *sizes):
    """A twin of a recurrent memory with an LSTM, over (B, T, E)."""
    *controller, interface, interface_bias, readout, readout_bias = weights

    def control(inputs, state):
        return memory.lstm(inputs, state, *controller)

    return [
        twin(
            row,
            control,
            (np.zeros(H), np.zeros(H)),
            (interface, interface_bias),
            (readout, readout_bias),
            *first,
            sizes,
        )
        for row in inputs
    ]


def turing_machine(weights, inputs):
    first, rest = weights[:2], weights[2:]
    return list(zip(*_over_time(memory.ntm, rest, inputs, (first,), N, W, R, 3, 2)))


def dynamic_computer(weights, inputs):
    """Only outputs: of slots with the same history any may be written first."""
    return [[answer[0] for answer in _over_time(memory.dnc, weights, inputs, (), N, W, R)]]


def bank(weights, query):
    keys, values = np.concatenate(weights[:2]), np.concatenate(weights[2:])
    return list(zip(*(memory_bank.read(row, keys, values) for row in query)))


def network(tying, encoding, linear, empty):
    """The twin of a memory network of three hops and five sentences."""
    count = 4 if tying == "adjacent" else 2

    def twin(weights, questions, stories):
        arrays = {"words": weights[:count], "times": weights[count : 2 * count]}
        arrays |= zip(("question", "transition"), weights[2 * count :])
        options = 3, 5, encoding, tying, linear, empty
        rows = zip(questions, stories, strict=True)
        return list(zip(*(memory_network.network(*row, arrays, *options) for row in rows)))

    return twin


def hybrid(weights, query, value, fields):
    rows = zip(query, value, fields, MASK, strict=True)
    return list(zip(*(data_to_text.hybrid_attention(*row, *weights, 0.2, 0.9) for row in rows)))


def _network_row(tying, encoding, linear, empty):
    options = {"memory_noise": 0.0, "empty_memories": empty, "linear_start": linear}
    return Row(
        lambda: MemoryNetwork(13, 11, 3, 5, encoding, tying, **options),
        (QUESTIONS, STORIES),
        network(tying, encoding, linear, empty),
        {"return_attention_scores": True},
    )


QUESTIONS = RANDOM.integers(1, 13, (B, 3)).astype("int32")
STORIES = RANDOM.integers(1, 13, (B, 7, 5)).astype("int32")
STORIES[0, 1, 3:] = STORIES[1, 4:] = 0
MASK = np.arange(N) < np.array([[N], [7]])
SINGLE = "float32"
ROWS = {
    "turing_machine": Row(
        lambda: MemoryRNN(NTMCell(_lstm(), U, N, W, R, 3, 2, dtype="float64"), dtype="float64"),
        (RANDOM.normal(size=(B, 5, E)),),
        turing_machine,
        {"return_attention_scores": True},
        1e-7,
    ),
    "computer": Row(
        lambda: MemoryRNN(DNCCell(_lstm(), U, N, W, R, dtype="float64"), dtype="float64"),
        (RANDOM.normal(size=(B, 5, E)),),
        dynamic_computer,
        tolerance=1e-7,
    ),
    "bank": Row(
        lambda: MemoryBank((3, 5), 7),
        (RANDOM.normal(size=(B, 11)).astype(SINGLE),),
        bank,
        {"return_attention_scores": True},
    ),
    "hybrid": Row(
        lambda: HybridAttention(MultiplicativeAttention(), 5, 3, 0.2, 0.9),
        (
            RANDOM.normal(size=(B, 3, 7)).astype(SINGLE),
            RANDOM.normal(size=(B, N, 5)).astype(SINGLE),
            RANDOM.integers(0, 5, (B, N)).astype("int32"),
        ),
        hybrid,
        {"value_mask": MASK, "return_attention_scores": True},
    ),
    "network": _network_row("adjacent", "position", False, False),
    "layer_wise_network": _network_row("layer_wise", "bag", False, True),
    "linear_network": _network_row("layer_wise", "position", True, False),
}


def check_gradients(name):
    """Values, and slopes along a direction of each float input and weight, are the twin's."""
    row = ROWS[name]
    layer, random = row.make(), np.random.default_rng(7)
    layer(*row.arrays, **row.options)
    variables, inputs = filled(layer, 0.5).trainable_variables, list(row.arrays)
    floats = [place for place, array in enumerate(inputs) if array.dtype.kind == "f"]
    shares = [random.normal(size=part.shape) for part in outputs_of(layer, inputs, row.options)]

    def loss(*given):
        called = list(inputs)
        for place, tensor in zip(floats, given):
            called[place] = tensor
        with keras.StatelessScope(list(zip(variables, given[len(floats) :]))):
            outputs = keras.tree.flatten(layer(*called, **row.options))
        parts = [ops.cast(share, part.dtype) * part for share, part in zip(shares, outputs)]
        return sum(ops.sum(part) for part in parts), outputs

    def twin(given):
        called = list(inputs)
        for place, array in zip(floats, given):
            called[place] = array
        return [np.array(part) for part in row.twin(given[len(floats) :], *called)]

    given = [inputs[place] for place in floats]
    given += [ops.convert_to_numpy(variable) for variable in variables]
    _, outputs, gradients = slopes(loss, len(given))(given)
    given = [array.astype("float64") for array in given]
    for output, expected in zip(outputs, twin(given), strict=True):
        np.testing.assert_allclose(output, expected, rtol=row.tolerance, atol=row.tolerance)
    for place, gradient in enumerate(gradients):
        along, ends = random.normal(size=gradient.shape), []
        for step in (STEP, -STEP):
            moved = [array + step * along if i == place else array for i, array in enumerate(given)]
            ends.append(sum(np.sum(share * part) for share, part in zip(shares, twin(moved))))
        least = row.tolerance * np.linalg.norm(gradient) * np.linalg.norm(along)
        slope = (ends[0] - ends[1]) / (2 * STEP)
        np.testing.assert_allclose(np.sum(gradient * along), slope, atol=least, err_msg=str(place))


def outputs_of(layer, inputs, options):
    """Its outputs, as a list."""
    return keras.tree.flatten(layer(*inputs, **options))


def main():
    keep_double_precision()
    check_exact_ties(allocation_weights)
    check_exact_ties(compiled(allocation_weights))
    check_near_ties()
    check_equal_histories()
    for name in ROWS:
        check_gradients(name)


if __name__ == "__main__":
    main()
