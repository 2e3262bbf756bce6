"""`DNCCell` beside its slow twin over 50 steps, and what holds in every state."""

import hypothesis
import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies
from keras import ops

from keras_attn.layers import DNCCell, MemoryRNN
from keras_attn.ops import allocation_weights, memory_usage, temporal_links, write_precedence
from tests.reference import memory

B, T, E, H, U, N, W, R = 2, 50, 3, 5, 7, 11, 4, 2
SIZES = {"num_slots": N, "slot_dim": W, "num_read_heads": R}
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(B, T, E))


def double_cell():
    """A cell in float64, with weights that make its heads decide."""
    cell = DNCCell(keras.layers.Dense(H, "tanh", dtype="float64"), U, dtype="float64", **SIZES)
    cell.build((None, E))
    random = np.random.default_rng(5)
    cell.set_weights([random.normal(size=weight.shape) for weight in cell.get_weights()])
    return cell


def twin(cell, inputs, controller=memory.dense, state=()):
    """Outputs, weights and states of the slow twin with the weights of a cell."""
    weights = [weight.numpy().astype("float64") for weight in cell.controller.weights]
    return memory.dnc(
        inputs,
        lambda x, state: controller(x, state, *weights),
        state,
        [weight.numpy() for weight in cell.interface.weights],
        [weight.numpy() for weight in cell.readout.weights],
        (N, W, R),
    )


def test_equals_a_slow_twin_step_by_step():
    cell = double_cell()
    state = cell.state_of(cell.get_initial_state(1))
    outputs, writes, reads, states = twin(cell, INPUTS[0])
    for t in range(T):
        output, state = cell.step(ops.convert_to_tensor(INPUTS[:1, t]), state)
        np.testing.assert_allclose(output[0], outputs[t], atol=1e-9)
        np.testing.assert_allclose(state.write_weights[0], writes[t], atol=1e-9)
        np.testing.assert_allclose(state.read_weights[0], reads[t], atol=1e-9)
        for part, expected in zip(state[:4], states[t]):
            np.testing.assert_allclose(part[0], expected, atol=1e-9)


def test_equals_a_slow_twin_with_an_lstm():
    cell = DNCCell(keras.layers.LSTMCell(H), U, **SIZES)
    outputs = MemoryRNN(cell)(INPUTS.astype("float32"))
    for b in range(B):
        expected = twin(cell, INPUTS[b], memory.lstm, (np.zeros(H), np.zeros(H)))[0]
        np.testing.assert_allclose(outputs[b], expected, atol=1e-4)


@hypothesis.settings(max_examples=20, deadline=None)
@hypothesis.given(strategies.integers(0, 2**31), strategies.sampled_from([0.1, 1.0, 30.0]))
def test_what_holds_in_every_state(seed, scale):
    random = np.random.default_rng(seed)
    usage, links, precedence = np.zeros((1, N)), np.zeros((1, N, N)), np.zeros((1, N))
    write, read = np.zeros((1, N)), np.zeros((1, R, N))

    def share(*shape):
        scores = np.exp(scale * random.normal(size=shape))
        return scores / scores.sum(-1, keepdims=True)

    for _ in range(7):
        usage = memory_usage(usage, write, read, random.uniform(size=(1, R)))
        allocation = ops.convert_to_numpy(allocation_weights(usage))
        gate, way = random.uniform(size=2)
        write = gate * (way * allocation + (1 - way) * share(1, N))
        links = ops.convert_to_numpy(temporal_links(links, precedence, write))
        precedence = ops.convert_to_numpy(write_precedence(precedence, write))
        read = share(1, R, N)
        for array in (usage, allocation, links, precedence, write):
            assert np.all(np.asarray(array) >= -1e-6) and np.all(np.asarray(array) <= 1 + 1e-5)
        for weights in (allocation, precedence, write, links, links.swapaxes(1, 2)):
            assert np.all(weights.sum(-1) <= 1 + 1e-5)
        assert not np.any(np.diagonal(links[0]))


def with_few_links(count):
    """A copy of `double_cell` in which every slot keeps some links."""
    cell = double_cell()
    few = DNCCell.from_config({**cell.get_config(), "max_links": count})
    few.build((None, E))
    few.set_weights(cell.get_weights())
    return cell, few


@pytest.mark.systems
@pytest.mark.parametrize("count", [N, 3])
def test_the_strongest_links(count):
    """All of them are exact; few are at most their exact values."""
    cells = with_few_links(count)
    states = [cell.state_of(cell.get_initial_state(B)) for cell in cells]
    states[1] = states[1]._replace(controller=states[0].controller)
    errors = []
    for t in range(T):
        inputs = ops.convert_to_tensor(INPUTS[:, t])
        (_, exact), (_, state) = (cell.step(inputs, own) for cell, own in zip(cells, states))
        sources = np.asarray(state.link_sources)
        assert all(len(set(row)) == count for row in sources.reshape(-1, count))
        dense = np.zeros((B, N, N))
        np.put_along_axis(dense, sources, np.asarray(state.links), axis=-1)
        assert not np.any(np.diagonal(dense, axis1=1, axis2=2))
        assert np.all(dense >= -1e-12)
        assert np.all(dense <= np.asarray(exact.links) + 1e-12)
        errors.append(np.abs(np.asarray(exact.read_weights - state.read_weights)).sum(-1).max())
        states = [exact, state]
        if count < N:  # The same reads from here on, so that the links alone differ.
            same = {"read_weights": exact.read_weights, "reads": exact.reads}
            states[1] = state._replace(memory=exact.memory, usage=exact.usage, **same)
            states[1] = states[1]._replace(precedence=exact.precedence)
    assert max(errors) < (1e-9 if count == N else 1)


def test_few_links_learn():
    _, cell = with_few_links(3)
    rnn = MemoryRNN(cell, dtype="float64")
    with tf.GradientTape() as tape:
        loss = ops.sum(rnn(INPUTS[:, :7]) ** 2)
    for gradient in tape.gradient(loss, cell.trainable_weights):
        assert np.all(np.isfinite(gradient)) and np.any(gradient)


def test_the_free_list():
    usage = np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]], "float32")
    weights = ops.convert_to_numpy(allocation_weights(usage))
    np.testing.assert_allclose(weights[0], [1, 0, 0, 0], atol=3e-6)
    assert not np.any(weights[1])
    for row in RANDOM.uniform(size=(17, N)):
        got = allocation_weights(ops.convert_to_tensor(row[None]))
        np.testing.assert_allclose(got[0], memory.allocation(row, memory.free_list(row)), atol=1e-7)


def test_links_walk_through_what_was_written():
    links, precedence = np.zeros((1, N, N), "float32"), np.zeros((1, N), "float32")
    for slot in (3, 7, 2):
        write = np.eye(N, dtype="float32")[None, slot]
        links = temporal_links(links, precedence, write)
        precedence = write_precedence(precedence, write)
    links = np.asarray(links)[0]
    assert set(zip(*np.nonzero(links))) == {(7, 3), (2, 7)}


def test_a_model_of_keras_trains_and_is_saved(tmp_path):
    inputs = keras.Input((None, E))
    cell = DNCCell(keras.layers.LSTMCell(H), U, **SIZES)
    hidden = keras.layers.RNN(cell, return_sequences=True)(inputs)
    model = keras.Model(inputs, hidden)
    x = INPUTS[:, :5].astype("float32")
    expected = MemoryRNN(cell)(x)
    np.testing.assert_allclose(model(x), expected, atol=1e-6)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(x), expected, atol=1e-6)


@pytest.mark.systems
def test_a_batch_of_one_and_a_row_of_nan():
    rnn = MemoryRNN(DNCCell(keras.layers.LSTMCell(H), U, **SIZES))
    inputs = INPUTS.astype("float32")
    expected = rnn(inputs)
    np.testing.assert_allclose(rnn(inputs[:1]), expected[:1], atol=1e-5)
    inputs = inputs.copy()
    inputs[1, 5] = np.nan
    outputs = rnn(inputs)
    np.testing.assert_allclose(outputs[0], expected[0], atol=1e-5)
    assert np.isnan(outputs[1, 5:]).all()


def test_bad_input_is_named():
    lstm = keras.layers.LSTMCell(H)
    for name in ("num_slots", "slot_dim", "num_read_heads"):
        with pytest.raises(ValueError, match=rf"Expected {name} >= 1\. Received: {name}=0"):
            DNCCell(lstm, U, **{name: 0})
    with pytest.raises(ValueError, match="Expected max_links >= 1"):
        DNCCell(lstm, U, max_links=0)
    with pytest.raises(ValueError, match="Expected max_links <= num_slots"):
        DNCCell(lstm, U, num_slots=5, max_links=7)
    with pytest.raises(ValueError, match="Expected units >= 1"):
        DNCCell(lstm, 0)
    with pytest.raises(ValueError, match="Expected a controller: a recurrent cell"):
        DNCCell(keras.layers.GRU(H), U)
    with pytest.raises(ValueError, match="Expected a memory in float32 or float64"):
        DNCCell(lstm, U, dtype="mixed_float16")
