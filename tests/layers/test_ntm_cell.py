"""`NTMCell` beside its slow twin, in `keras.layers.RNN` and in `MemoryRNN`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.layers import ContextGRUCell, ContextLSTMCell, MemoryRNN, NTMCell
from tests.reference import memory

B, T, E, H, U, N, W = 2, 13, 3, 5, 7, 11, 4
SIZES = {"num_slots": N, "slot_dim": W}
HEADS = {**SIZES, "num_read_heads": 2, "num_write_heads": 3, "max_shift": 2}
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(B, T, E))
CONTROLLERS = {
    "lstm": lambda: keras.layers.LSTMCell(H),
    "gru": lambda: keras.layers.GRUCell(H),
    "stacked": lambda: keras.layers.StackedRNNCells(
        [keras.layers.GRUCell(3), keras.layers.LSTMCell(H)]
    ),
    "context_lstm": lambda: ContextLSTMCell(H),
    "context_gru": lambda: ContextGRUCell(H),
    "dense": lambda: keras.layers.Dense(H, "tanh"),
    "perceptron": lambda: keras.Sequential(
        [keras.layers.Dense(13, "relu"), keras.layers.Dense(H, "tanh")]
    ),
}


def double_cell():
    """A cell in float64, with weights that make its heads decide."""
    cell = NTMCell(keras.layers.Dense(H, "tanh", dtype="float64"), U, dtype="float64", **HEADS)
    cell.build((None, E))
    random = np.random.default_rng(5)
    cell.set_weights([random.normal(size=weight.shape) for weight in cell.get_weights()])
    return cell


def _dtype(tensor):
    return keras.backend.standardize_dtype(tensor.dtype)


def twin(cell, inputs, controller=memory.dense, state=()):
    """Outputs and weights of the slow twin with the weights of a cell."""
    weights = [weight.numpy().astype("float64") for weight in cell.controller.weights]
    return memory.ntm(
        inputs,
        lambda x, state: controller(x, state, *weights),
        state,
        [weight.numpy() for weight in cell.interface.weights],
        [weight.numpy() for weight in cell.readout.weights],
        (cell.first_scores.numpy(), cell.first_reads.numpy()),
        (N, W, cell.num_read_heads, cell.num_write_heads, cell.max_shift),
    )


def test_equals_a_slow_twin():
    cell = double_cell()
    got = MemoryRNN(cell, dtype="float64")(INPUTS, return_attention_scores=True)
    for b in range(B):
        for output, expected in zip(got, twin(cell, INPUTS[b]), strict=True):
            np.testing.assert_allclose(output[b], expected, atol=1e-9)


def test_equals_a_slow_twin_with_an_lstm():
    cell = NTMCell(keras.layers.LSTMCell(H), U, **HEADS)
    outputs = MemoryRNN(cell)(INPUTS.astype("float32"))
    for b in range(B):
        state = (np.zeros(H), np.zeros(H))
        expected, _, _ = twin(cell, INPUTS[b], memory.lstm, state)
        np.testing.assert_allclose(outputs[b], expected, atol=1e-5)


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_both_loops_agree_under_a_mask(kind):
    cell = NTMCell(CONTROLLERS[kind](), U, **HEADS)
    inputs, mask = INPUTS.astype("float32"), np.arange(T) < np.array([[T], [7]])
    expected = keras.layers.RNN(cell)(inputs, mask=ops.convert_to_tensor(mask))
    outputs, write, read = MemoryRNN(cell)(inputs, mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(outputs[0, -1], expected[0], atol=1e-6)
    np.testing.assert_allclose(outputs[1, 6], expected[1], atol=1e-6)
    assert write.shape == (B, T, 3, N) and read.shape == (B, T, 2, N)
    for weights in (write, read):
        np.testing.assert_allclose(np.sum(weights, -1), 1, atol=1e-5)


@pytest.mark.slow
def test_a_model_of_keras_trains_and_is_saved(tmp_path):
    inputs = keras.Input((T, E))
    cell = NTMCell(keras.layers.LSTMCell(H), U, **SIZES)
    hidden = keras.layers.RNN(cell, return_sequences=True)(keras.layers.Masking()(inputs))
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    x = INPUTS.astype("float32")
    expected = model(x)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(x), expected, atol=1e-6)
    model.compile("adam", "mse")
    before = [weight.numpy() for weight in model.trainable_weights]
    model.fit(x, x, verbose=0)
    after = {weight.path: weight.numpy() for weight in model.trainable_weights}
    assert not [path for a, (path, b) in zip(before, after.items()) if np.all(a == b)]


def test_the_state_is_float32_under_mixed_precision():
    keras.config.set_dtype_policy("mixed_bfloat16")
    cell = NTMCell(keras.layers.LSTMCell(H), U, **SIZES)
    step, seen = cell.step, set()
    cell.step = lambda inputs, state: (seen.update(map(_dtype, state[:4])), step(inputs, state))[1]
    keras.layers.RNN(cell)(INPUTS.astype("float32"))
    assert seen == {"float32"}
    assert cell.controller.cell.compute_dtype == "bfloat16"
    outputs = MemoryRNN(cell)(INPUTS.astype("float32"))
    assert outputs.dtype == tf.bfloat16


def test_a_batch_of_one_and_a_row_of_nan():
    rnn = MemoryRNN(NTMCell(keras.layers.LSTMCell(H), U, **HEADS))
    inputs = INPUTS.astype("float32")
    expected = rnn(inputs)
    np.testing.assert_allclose(rnn(inputs[:1]), expected[:1], atol=1e-6)
    inputs = inputs.copy()
    inputs[1, 5] = np.nan
    outputs = rnn(inputs)
    np.testing.assert_allclose(outputs[0], expected[0], atol=1e-6)
    assert np.isnan(outputs[1, 5:]).all()


def test_bad_input_is_named():
    lstm = keras.layers.LSTMCell(H)
    with pytest.raises(ValueError, match=r"Expected num_slots >= 1\. Received: num_slots=0"):
        NTMCell(lstm, U, num_slots=0)
    with pytest.raises(ValueError, match="Expected units >= 1"):
        NTMCell(lstm, 0)
    with pytest.raises(ValueError, match="Expected slot_dim >= 1"):
        NTMCell(lstm, U, slot_dim=-1)
    with pytest.raises(ValueError, match="Expected num_read_heads >= 1"):
        NTMCell(lstm, U, num_read_heads=0)
    with pytest.raises(ValueError, match=r"Expected max_shift >= 0\. Received: max_shift=-1"):
        NTMCell(lstm, U, max_shift=-1)
    with pytest.raises(ValueError, match=r"num_slots >= 2 \* max_shift \+ 1"):
        NTMCell(lstm, U, num_slots=4, max_shift=2)
    for wrong in (None, 7, keras.layers.LSTM(H)):
        with pytest.raises(ValueError, match="Expected a controller: a recurrent cell"):
            NTMCell(wrong, U)
    with pytest.raises(ValueError, match="without its own dropout"):
        NTMCell(keras.layers.LSTMCell(H, dropout=0.5), U)
    with pytest.raises(ValueError, match="Expected a memory in float32 or float64"):
        NTMCell(lstm, U, dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match="Expected an NTMCell or a DNCCell"):
        MemoryRNN(lstm)
