"""`AttentionCell` in `keras.layers.RNN` and step by step, beside slow NumPy twins."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.layers import (
    AdditiveAttention,
    AttentionCell,
    ContextGRUCell,
    ContextLSTMCell,
    DotAttention,
    LastStateAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    MultiplicativeAttention,
    StackedContextCells,
)

B, S, T, E, F, H, U = 2, 11, 5, 3, 7, 13, 17
RANDOM = np.random.default_rng(3)
VALUE = RANDOM.normal(size=(B, S, F)).astype("float32")
INPUTS = RANDOM.normal(size=(B, T, E)).astype("float32")
MASK = np.arange(S) < np.array([[11], [7]])
LSTM, GRU = "lstm", "gru"

CELLS = {
    "lstm": lambda: keras.layers.LSTMCell(H),
    "gru": lambda: keras.layers.GRUCell(H),
    "simple": lambda: keras.layers.SimpleRNNCell(H),
    "stacked": lambda: keras.layers.StackedRNNCells(
        [keras.layers.GRUCell(H), keras.layers.LSTMCell(H)]
    ),
    "context_lstm": lambda: ContextLSTMCell(H),
    "context_gru": lambda: ContextGRUCell(H),
    "stacked_context": lambda: StackedContextCells([ContextLSTMCell(H), ContextGRUCell(H)]),
}
ATTENTIONS = {
    "additive": lambda: AdditiveAttention(5),
    "multiplicative": MultiplicativeAttention,
    "location": lambda: LocationAttention(S + 2),
    "last": LastStateAttention,
    "local-m": lambda: LocalMonotonicAttention(MultiplicativeAttention(), 2),
    "local-p": lambda: LocalPredictiveAttention(AdditiveAttention(5), 2, 3),
}
MODES = {"luong": {}, "no_feeding": {"input_feeding": False}, "bahdanau": {"attend_first": True}}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def twin(cell, state, mode):
    """Slow steps of an additive LSTM attention cell with Keras' own weights."""
    kernel, recurrent, bias = (w.numpy() for w in cell.cell.cell.weights)
    query_kernel, key_kernel, vector = (w.numpy() for w in cell.attention.weights)
    combine = cell.combine.kernel.numpy()
    outputs = np.zeros((B, T, U))
    for b in range(B):
        hidden, memory = state[0][b], state[1][b]
        attended = np.zeros(U)

        def read(query, values=VALUE[b], mask=MASK[b]):
            scores = np.array(
                [vector[:, 0] @ np.tanh(query @ query_kernel + v @ key_kernel) for v in values]
            )
            scores = np.exp(scores) * mask
            return scores / scores.sum() @ values

        for t in range(T):
            fed = attended if mode == "luong" else np.zeros(0)
            fed = read(hidden) if mode == "bahdanau" else fed
            context = fed
            gates = np.concatenate([INPUTS[b, t], fed]) @ kernel + hidden @ recurrent + bias
            enter, forget, new, leave = np.split(gates, 4)
            memory = sigmoid(forget) * memory + sigmoid(enter) * np.tanh(new)
            hidden = sigmoid(leave) * np.tanh(memory)
            context = fed if mode == "bahdanau" else read(hidden)
            attended = np.tanh(np.concatenate([context, hidden]) @ combine)
            outputs[b, t] = attended
    return outputs


@pytest.mark.parametrize("mode", MODES)
def test_equals_a_slow_twin(mode):
    keras.utils.set_random_seed(5)
    cell = AttentionCell(keras.layers.LSTMCell(H), AdditiveAttention(5), U, **MODES[mode])
    state = [RANDOM.normal(size=(B, H)).astype("float32") for _ in range(2)]
    initial = cell.initial_state(VALUE, state, MASK)
    outputs = keras.layers.RNN(cell, return_sequences=True)(INPUTS, initial_state=initial)
    np.testing.assert_allclose(outputs, twin(cell, state, mode), atol=2e-5)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("mode", MODES)
def test_steps_equal_the_loop_of_keras(kind, mode):
    cell = AttentionCell(CELLS[kind](), AdditiveAttention(5), U, **MODES[mode])
    parts = [RANDOM.normal(size=(B, n)).astype("float32") for n in cell.cell.state_sizes]
    rnn = keras.layers.RNN(cell, return_sequences=True)
    expected = rnn(INPUTS, initial_state=cell.initial_state(VALUE, parts, MASK))
    memory, state = cell.read(VALUE, MASK), cell.first(parts)
    projected = cell.project(ops.convert_to_tensor(INPUTS))
    for t in range(T):
        output, weights, state = cell.step(projected[:, t], memory, state)
        np.testing.assert_allclose(output, expected[:, t], atol=1e-6)
        np.testing.assert_allclose(np.sum(weights, -1), 1, atol=1e-6)
        assert not np.any(np.asarray(weights)[1, 7:])


@pytest.mark.parametrize("mode", MODES)
def test_unrolled_it_equals_the_loop_of_keras_and_has_the_weights(mode):
    cell = AttentionCell(keras.layers.LSTMCell(H), AdditiveAttention(5), U, **MODES[mode])
    state = cell.initial_state(VALUE, value_mask=MASK)
    outputs, weights = map(ops.convert_to_numpy, cell.unroll(INPUTS, state))
    expected = keras.layers.RNN(cell, return_sequences=True)(INPUTS, initial_state=state)
    np.testing.assert_allclose(outputs, ops.convert_to_numpy(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weights.sum(-1), np.ones((B, T)), rtol=1e-5)
    assert weights.shape == (B, T, S) and not weights[1, :, 7:].any()
    named = cell.first([np.zeros((B, H), "float32")] * 2)
    _, first, _ = cell.step(cell.project(INPUTS[:, 0]), cell.read(VALUE, MASK), named)
    np.testing.assert_allclose(weights[:, 0], ops.convert_to_numpy(first), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_more_padding_changes_nothing_and_hypotheses_are_neighbors(kind):
    cell = AttentionCell(ContextLSTMCell(H), ATTENTIONS[kind]())
    rnn = keras.layers.RNN(cell, return_sequences=True)
    expected = rnn(INPUTS, initial_state=cell.initial_state(VALUE, value_mask=MASK))
    cut = rnn(INPUTS[1:], initial_state=cell.initial_state(VALUE[1:, :7]))
    np.testing.assert_allclose(cut, expected[1:], atol=1e-6)
    memory = cell.read(VALUE, MASK)
    state = cell.first([np.zeros((2 * B, H), "float32")] * 2)
    projected = cell.project(ops.repeat(ops.convert_to_tensor(INPUTS), 2, axis=0))
    for t in range(T):
        output, _, state = cell.step(projected[:, t], memory, state)
        np.testing.assert_allclose(output, np.repeat(expected[:, t], 2, axis=0), atol=1e-6)


@pytest.mark.systems
def test_a_functional_model_masks_trains_and_is_saved(tmp_path):
    source, target = (keras.Input((None,), dtype="int32", name=n) for n in ("source", "target"))
    value = keras.layers.Embedding(19, F, mask_zero=True)(source)
    value, *state = keras.layers.LSTM(H, return_sequences=True, return_state=True)(value)
    cell = AttentionCell(keras.layers.LSTMCell(H), AdditiveAttention(5), U)
    words = keras.layers.Embedding(23, E, mask_zero=True)(target)
    rnn = keras.layers.RNN(cell, return_sequences=True)
    hidden = rnn(words, initial_state=cell.initial_state(value, state))
    model = keras.Model([source, target], keras.layers.Dense(23)(hidden))
    tokens = RANDOM.integers(1, 19, (B, S)), RANDOM.integers(1, 23, (B, T))
    tokens[0][1, 7:], tokens[1][1, 3:] = 0, 0
    expected = model.predict(tokens, verbose=0)
    padded = [np.pad(array, [(0, 0), (0, 2)]) for array in tokens]
    np.testing.assert_allclose(model.predict(padded, verbose=0)[:, :T], expected, atol=1e-5)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(tokens, verbose=0), expected, atol=1e-6)
    assert len(again.weights) == len(model.weights)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    before = [weight.numpy() for weight in model.trainable_weights]
    model.fit(tokens, tokens[1], verbose=0)
    after = {weight.path: weight.numpy() for weight in model.trainable_weights}
    assert not [path for a, (path, b) in zip(before, after.items()) if np.all(a == b)]


@pytest.mark.parametrize("policy", ["float64", "float16", "mixed_bfloat16"])
@pytest.mark.parametrize("kind", ["lstm", "stacked", "stacked_context"])
def test_every_cell_under_a_global_policy(kind, policy):
    keras.config.set_dtype_policy(policy)
    cell = AttentionCell(CELLS[kind](), AdditiveAttention(5))
    rnn = keras.layers.RNN(cell, return_sequences=True)
    outputs = rnn(INPUTS, initial_state=cell.initial_state(ops.convert_to_tensor(VALUE)))
    assert cell.compute_dtype == ("float64" if policy == "float64" else "float32")
    assert outputs.dtype == rnn.compute_dtype and np.isfinite(np.array(outputs, "float32")).all()


def test_an_empty_memory_and_one_step():
    cell = AttentionCell(keras.layers.GRUCell(H), AdditiveAttention(5), U)
    rnn = keras.layers.RNN(cell)
    nothing = rnn(INPUTS[:, :1], initial_state=cell.initial_state(VALUE, value_mask=MASK & False))
    assert np.isfinite(nothing).all()
    alone = rnn(INPUTS[:, :1], initial_state=cell.initial_state(VALUE * 0))
    np.testing.assert_allclose(nothing, alone, atol=1e-6)


def test_bad_input_is_named():
    cell = AttentionCell(keras.layers.LSTMCell(H), AdditiveAttention(5))
    with pytest.raises(ValueError, match="Expected a memory, as in rnn"):
        keras.layers.RNN(cell)(INPUTS)
    with pytest.raises(ValueError, match=r"Expected 2 cell states\. Received: 1"):
        cell.initial_state(VALUE, [VALUE[:, 0]])
    with pytest.raises(ValueError, match="Expected a recurrent cell"):
        AttentionCell(keras.layers.Dense(3), DotAttention())
    with pytest.raises(ValueError, match="Expected a ScoredAttention layer"):
        AttentionCell(keras.layers.LSTMCell(3), keras.layers.Attention())
    with pytest.raises(ValueError, match="without its own dropout"):
        AttentionCell(keras.layers.LSTMCell(3, dropout=0.5), DotAttention())
    with pytest.raises(ValueError, match="Expected units >= 1"):
        AttentionCell(keras.layers.LSTMCell(3), DotAttention(), 0)
    half = AttentionCell(keras.layers.LSTMCell(3), DotAttention(), dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match="computes in float32 or float64 inside keras"):
        half.initial_state(VALUE)
