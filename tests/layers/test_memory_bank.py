"""Progressive memory banks: the slow twin, growth, and the theorem on expansion."""

import keras
import numpy as np
import pytest

from keras_attn.layers import ContextGRUCell, ContextLSTMCell, MemoryBank, MemoryBankCell
from keras_attn.models import ProgressiveLanguageModel
from keras_attn.ops import read_bank
from tests.reference import memory_bank as slow

RANDOM = np.random.default_rng(7)
TOKENS = RANDOM.integers(1, 13, (3, 5)).astype("int32")
TOKENS[1, 3:] = 0
SIZES = {"embedding_dim": 5, "hidden_dim": 7, "memory_dim": 3, "dropout": 0.2}


def model(vocabulary_size=13, slots=(2, 11), **sizes):
    keras.utils.set_random_seed(3)
    built = ProgressiveLanguageModel(vocabulary_size, slots, **{**SIZES, **sizes})
    built.build()
    return built


def test_the_language_model_equals_the_slow_twin():
    answerer = model()
    logits, weights = answerer(TOKENS), answerer.slot_weights(TOKENS)
    table = answerer.embedding.get_weights()[0]
    bank, lstm = answerer.cell.bank, answerer.cell.cell
    keys = np.concatenate([np.array(part) for part in bank.keys])
    values = np.concatenate([np.array(part) for part in bank.values])
    gates = (lstm.input_gates, lstm.context_gates, lstm.hidden_gates)
    kernels = [np.array(gate.kernel) for gate in gates]
    kernel, bias = answerer.logits.get_weights()
    for row in range(3):
        hidden = cell = np.zeros(7)
        for step, token in enumerate(TOKENS[row]):
            if token == 0:
                break
            context, shares = slow.read(hidden, keys, values)
            np.testing.assert_allclose(weights[row, step], shares, atol=1e-6)
            hidden, cell = slow.lstm(
                table[token],
                context,
                hidden,
                cell,
                kernels,
                np.array(lstm.input_gates.bias),
                lstm.forget_bias,
            )
            np.testing.assert_allclose(logits[row, step], hidden @ kernel + bias, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.layers.LSTMCell(7),
        lambda: keras.layers.SimpleRNNCell(7),
        lambda: keras.layers.StackedRNNCells([keras.layers.GRUCell(5), keras.layers.LSTMCell(7)]),
        lambda: ContextLSTMCell(7),
        lambda: ContextGRUCell(7),
    ],
)
def test_any_cell_in_an_rnn_is_saved_and_masked(make, tmp_path):
    source = keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(13, 5, mask_zero=True)(source)
    cell = MemoryBankCell(make(), MemoryBank((2, 11), 3))
    rnn = keras.Model(source, keras.layers.RNN(cell)(words))
    expected = rnn(TOKENS)
    np.testing.assert_allclose(rnn(np.pad(TOKENS, [(0, 0), (0, 4)])), expected, atol=1e-6)
    np.testing.assert_allclose(rnn(TOKENS[:1]), expected[:1], atol=1e-6)
    rnn.save(tmp_path / "rnn.keras")
    again = keras.saving.load_model(tmp_path / "rnn.keras")
    np.testing.assert_allclose(again(TOKENS), expected, atol=1e-6)
    assert len(cell.bank.trainable_weights) == 4


def test_the_first_step_of_a_gru_reads_the_mean_slot():
    bank = MemoryBank((11,), 3)
    context, weights = bank(np.zeros((2, 7)), return_attention_scores=True)
    np.testing.assert_allclose(weights, np.full((2, 11), 1 / 11), atol=1e-6)
    np.testing.assert_allclose(context[0], np.mean(bank.values[0], axis=0), atol=1e-6)


def test_weights_are_normalized_over_the_slots_of_all_domains():
    bank = MemoryBank((2, 11), 3)
    query = RANDOM.normal(size=(3, 7)).astype("float32")
    context, weights = bank(query, return_attention_scores=True)
    parts = [read_bank(query, keys, values) for keys, values in zip(bank.keys, bank.values)]
    shares = [np.sum(weights[:, :2], -1), np.sum(weights[:, 2:], -1)]
    np.testing.assert_allclose(np.add(*shares), 1, atol=1e-6)
    mixed = sum(share[:, None] * np.array(part[0]) for share, part in zip(shares, parts))
    np.testing.assert_allclose(context, mixed, atol=1e-6)


def test_a_row_with_nan_spoils_no_other():
    inputs = RANDOM.normal(size=(3, 5, 2)).astype("float32")
    rnn = keras.layers.RNN(MemoryBankCell(keras.layers.LSTMCell(7), MemoryBank((11,), 3)))
    expected = np.array(rnn(inputs))
    inputs[1, 2] = np.nan
    spoiled = np.array(rnn(inputs))
    assert np.isnan(spoiled[1]).all()
    np.testing.assert_allclose(spoiled[[0, 2]], expected[[0, 2]])


def test_growth_keeps_what_was_there():
    old = model()
    same = model()
    same.grow_from(old)
    np.testing.assert_array_equal(same(TOKENS), old(TOKENS))
    words = model(17)
    words.grow_from(old)
    np.testing.assert_allclose(np.array(words(TOKENS))[..., :13], old(TOKENS), atol=1e-6)
    more = model(17, (2, 11, 3))
    more.grow_from(old)
    for mine, before in zip(more.cell.bank.values, old.cell.bank.values):
        np.testing.assert_array_equal(mine, before)
    assert np.any(np.array(more.cell.bank.values[2]))


def test_a_larger_state_holds_the_smaller_one():
    """With no weight from new units to old ones, the old units go on as they did."""
    old, new = model(), model(hidden_dim=11)
    new.grow_from(old)
    lstm, bank = new.cell.cell, new.cell.bank
    kernel = np.array(lstm.hidden_gates.kernel).reshape(11, 4, 11)
    kernel[7:, :, :7] = 0
    lstm.hidden_gates.kernel.assign(kernel.reshape(11, 44))
    for keys in bank.keys:
        keys.assign(np.array(keys) * (np.arange(11) < 7))
    logits = np.array(new.logits.kernel) * (np.arange(11) < 7)[:, None]
    new.logits.kernel.assign(logits)
    np.testing.assert_allclose(new(TOKENS), old(TOKENS), atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"slots": (3, 11)}, r"Expected slots=\(2, 11\) and more. Received: slots=\(3, 11\)"),
        ({"slots": (2,)}, r"Expected slots=\(2, 11\) and more"),
        ({"memory_dim": 5}, "Expected memory_dim=3. Received: memory_dim=5"),
        ({"hidden_dim": 5}, "Expected hidden_dim >= 7. Received: hidden_dim=5"),
        ({"vocabulary_size": 11}, "Expected vocabulary_size >= 13"),
    ],
)
def test_a_model_that_cannot_grow(sizes, message):
    with pytest.raises(ValueError, match=message):
        model(**sizes).grow_from(model())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemoryBank((0,), 3), "Expected slots >= 1. Received: slots=0"),
        (lambda: MemoryBank((), 3), r"Expected the slots of each domain. Received: slots=\(\)"),
        (lambda: MemoryBank(5, 3), "Expected the slots of each domain. Received: slots=5"),
        (lambda: MemoryBankCell(keras.layers.LSTMCell(7), 5), "Expected a MemoryBank"),
        (lambda: MemoryBankCell(5, MemoryBank((5,), 3)), "Expected a recurrent cell"),
        (lambda: model().grow_from(5), "Expected a ProgressiveLanguageModel. Received: 5"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("new_slots", [1, 3, 11])
def test_more_memory_disturbs_the_state_less_than_more_state(new_slots):
    """The theorem of Asghar et al., by drawing what it takes the expectation over.

    A linear recurrent step h = W h' + U x + C c. All weights, slots and states are independent,
    with mean 0 and the same variance; a slot is as wide as what is added to the state. Where the
    new slots get at most half of the attention, E ‖h_memory − h‖² ≤ E ‖h_state − h‖².
    """
    random, size, width, slots, draws = np.random.default_rng(0), 7, 5, 11, 4000
    by_memory, by_state = [], []
    while len(by_memory) < draws:
        hidden = random.normal(size=size)
        values = random.normal(size=(slots + new_slots, width))
        scores = random.normal(size=(slots + new_slots, size)) @ hidden
        shares = np.exp(scores - scores.max())
        if shares[slots:].sum() > shares[:slots].sum():
            continue
        narrow = shares[:slots] @ values[:slots] / shares[:slots].sum()
        wide = shares @ values / shares.sum()
        by_memory.append(np.sum(np.square(random.normal(size=(size, width)) @ (wide - narrow))))
        added = random.normal(size=(size, width)) @ random.normal(size=width)
        by_state.append(np.sum(np.square(added)))
    error = np.std(np.subtract(by_state, by_memory)) / draws**0.5
    assert np.mean(by_state) - np.mean(by_memory) > 5 * error


@pytest.mark.systems
def test_more_memory_disturbs_the_language_model_less_than_more_state():
    """The same of the LSTM, from the same weights, with initial weights of one scale."""
    old, disturbed = model(slots=(11,), memory_dim=5), {}
    before = np.array(old.states(TOKENS))
    for name, sizes in {"state": {"hidden_dim": 12}, "memory": {"slots": (11, 5)}}.items():
        changes = []
        for seed in range(5):
            new = model(**{"slots": (11,), "memory_dim": 5, **sizes})
            keras.utils.set_random_seed(seed)
            for weight in new.weights:
                weight.assign(keras.random.normal(weight.shape, stddev=0.3))
            new.grow_from(old)
            after = np.array(new.states(TOKENS))[..., :7]
            changes.append(np.mean(np.square(after - before)))
        disturbed[name] = np.mean(changes)
    assert disturbed["memory"] < 0.5 * disturbed["state"]
