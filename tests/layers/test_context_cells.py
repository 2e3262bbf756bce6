"""Cells that read a context: equal to Keras' cells on input and context side by side."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.layers import ContextCell, ContextGRUCell, ContextLSTMCell
from keras_attn.models import CaptionDecoder, SoftAttention
from keras_attn.ops import gru_step, lstm_step

INPUT, CONTEXT, UNITS, ROWS, STEPS = 5, 3, 7, 2, 11


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sequences(seed=1):
    random = np.random.default_rng(seed)
    shapes = ((STEPS, ROWS, INPUT), (STEPS, ROWS, CONTEXT))
    return [random.normal(size=shape).astype("float32") for shape in shapes]


def run(cell, states=None):
    """Outputs (STEPS, ROWS, UNITS) of a cell, its inputs projected before the loop."""
    inputs, contexts = sequences()
    if not cell.built:
        cell.build((None, INPUT), (None, CONTEXT))
    state = cell.state_of([np.full((ROWS, size), 0.3, "float32") for size in cell.state_sizes])
    outputs, projected = [], cell.project(ops.array(inputs))
    for step, context in zip(projected, contexts):
        output, state = cell.step(step, ops.array(context), state)
        outputs.append(ops.convert_to_numpy(output))
    return np.stack(outputs)


def keras_run(cell):
    """The same of one of Keras' cells."""
    inputs = np.concatenate(sequences(), axis=-1)
    state = keras.tree.map_structure(lambda size: ops.full((ROWS, size), 0.3), cell.state_size)
    state = state if isinstance(state, list | tuple) else [state]
    outputs = []
    for step in inputs:
        output, state = cell(ops.array(step), state)
        outputs.append(ops.convert_to_numpy(output))
    return np.stack(outputs)


def assigned(cell, seed=5):
    """A built cell with random weights."""
    cell.build((None, INPUT), (None, CONTEXT))
    random = np.random.default_rng(seed)
    for weight in cell.trainable_weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    return cell


def kernels(cell):
    """Kernel over input and context, kernel over the state."""
    parts = (cell.input_gates.kernel, cell.context_gates.kernel)
    return np.concatenate([np.array(part.value) for part in parts]), cell.hidden_gates.kernel


def test_the_lstm_is_keras():
    cell, twin = assigned(ContextLSTMCell(UNITS)), keras.layers.LSTMCell(UNITS)
    twin.build((None, INPUT + CONTEXT))
    bias = np.array(cell.input_gates.bias.value)
    bias[UNITS : 2 * UNITS] += 1
    twin.set_weights([*kernels(cell), bias])
    np.testing.assert_allclose(run(cell), keras_run(twin), atol=1e-5)


def test_the_gru_is_keras():
    cell, twin = assigned(ContextGRUCell(UNITS)), keras.layers.GRUCell(UNITS)
    twin.build((None, INPUT + CONTEXT))
    biases = [np.array(gates.bias.value) for gates in (cell.input_gates, cell.hidden_gates)]
    twin.set_weights([*kernels(cell), np.stack(biases)])
    np.testing.assert_allclose(run(cell), keras_run(twin), atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.layers.LSTMCell(UNITS),
        lambda: keras.layers.GRUCell(UNITS),
        lambda: keras.layers.SimpleRNNCell(UNITS),
        lambda: keras.layers.StackedRNNCells(
            [keras.layers.LSTMCell(3), keras.layers.GRUCell(UNITS)]
        ),
    ],
)
def test_any_cell_of_keras(make):
    cell = ContextCell(make())
    outputs = run(cell)
    np.testing.assert_allclose(outputs, keras_run(cell.cell), atol=1e-5)
    again = ContextCell.from_config(cell.get_config())
    again.build((None, INPUT), (None, CONTEXT))
    again.set_weights(cell.get_weights())
    np.testing.assert_allclose(run(again), outputs, atol=1e-6)


def test_steps_equal_their_twins():
    random = np.random.default_rng(3)
    gates, cell = random.normal(size=(ROWS, 4 * UNITS)), random.normal(size=(ROWS, UNITS))
    i, f, g, o = np.split(gates, 4, axis=-1)
    after = sigmoid(f + 0.7) * cell + sigmoid(i) * np.tanh(g)
    hidden, actual = lstm_step(gates.astype("float32"), cell.astype("float32"), 0.7)
    np.testing.assert_allclose(actual, after, atol=1e-5)
    np.testing.assert_allclose(hidden, sigmoid(o) * np.tanh(after), atol=1e-5)
    inputs, states = random.normal(size=(2, ROWS, 3 * UNITS)).astype("float32")
    (z, r, g), (z2, r2, g2) = (np.split(part, 3, axis=-1) for part in (inputs, states))
    update = sigmoid(z + z2)
    expected = update * cell + (1 - update) * np.tanh(g + sigmoid(r + r2) * g2)
    actual = gru_step(inputs, states, cell.astype("float32"))
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("cell", [ContextGRUCell(7), keras.layers.SimpleRNNCell(7), None])
def test_a_decoder_of_any_cell_comes_back_from_its_config(cell):
    sizes = {"vocabulary_size": 13, "embedding_dim": 5, "hidden_dim": 7, "dropout": 0.0}
    decoder = CaptionDecoder(attention=SoftAttention(3), cell=cell, **sizes)
    features, tokens = ops.ones((2, 11, 3)), ops.ones((2, 1, 5), "int32")
    logits, weights = decoder(features, tokens)
    again = CaptionDecoder.from_config(decoder.get_config())
    again(features, tokens)
    again.set_weights(decoder.get_weights())
    for expected, output in zip((logits, weights), again(features, tokens)):
        np.testing.assert_allclose(output, expected, atol=1e-6)
    assert type(again.cell) is type(decoder.cell)


def test_bad_cells():
    with pytest.raises(ValueError, match=r"a recurrent cell, such as keras\.layers\.LSTMCell"):
        ContextCell(keras.layers.Dense(3))
    dropping = keras.layers.GRUCell(UNITS, recurrent_dropout=0.2)
    for cell in (dropping, keras.layers.StackedRNNCells([dropping])):
        with pytest.raises(ValueError, match=r"GRUCell with dropout=0.*recurrent_dropout=0\.2"):
            ContextCell(cell)
    with pytest.raises(ValueError, match="Expected units >= 1"):
        ContextLSTMCell(0)
    sizes = {"vocabulary_size": 13, "hidden_dim": 7, "attention": SoftAttention(3)}
    with pytest.raises(ValueError, match=r"width hidden_dim=7\. Received: one of 5"):
        CaptionDecoder(cell=keras.layers.GRUCell(5), **sizes)
    with pytest.raises(ValueError, match=r"Expected an attention, such as SoftAttention\(256\)"):
        CaptionDecoder(vocabulary_size=13)
    with pytest.raises(ValueError, match="reader"):
        CaptionDecoder(vocabulary_size=13, reader=SoftAttention(3))
