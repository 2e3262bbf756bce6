"""The Transformer step by step: caches, prefixes, ancestors."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops, tree

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS, WEIGHTS
from tests.backends import OTHERS
from tests.models.tiny_transformer import (
    LENGTH,
    MODERN,
    VOCABULARY,
    batch,
    search,
    summed_loss,
    transformer,
)
from tests.processes import run_module
from tests.quick import rows

CHOICES = [{}, {"normalize_first": True, "positions": "learned", "tied": "none", "use_bias": True}]
CHOICES += [{"normalize_first": True, "counted_token": 5}, *MODERN.values()]
both = pytest.mark.parametrize("choices", rows(CHOICES, [CHOICES[1], MODERN["rotary"]]))


def check(actual, expected, tolerance=1e-5):
    actual, expected = (ops.convert_to_numpy(array) for array in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def check_states(actual, expected):
    """Equal where a step can look: consumed slots of the caches, and the indices of these."""
    check(actual.time, expected.time)
    for part, other in zip(tree.flatten(actual.added), tree.flatten(expected.added), strict=True):
        check(part, other)
    real = np.arange(actual.ancestors.shape[2]) < ops.convert_to_numpy(actual.time)[:, None]
    for state in (actual, expected):
        assert ops.convert_to_numpy(state.ancestors).dtype == bool
    check(actual.ancestors & real[:, None], expected.ancestors & real[:, None])
    for cache, expected_cache in zip(tree.flatten(actual.caches), tree.flatten(expected.caches)):
        held = real[:, None, : cache.shape[2], None]  # Under a window, the first slots fill first.
        check(cache * held, expected_cache * held)


@both
def test_steps_equal_the_whole_sequence(choices):
    model, inputs = transformer(**choices), batch()
    outputs = model(inputs)
    memory, state = model.start(inputs, 7)
    for time in range(LENGTH):
        result = model.step(inputs[TOKENS][:, time], memory, state)
        state = result.state
        assert all(leaf.shape[0] == 3 for leaf in tree.flatten(state))
        check(result.logits, outputs[LOGITS][:, time])
        check(result.weights, outputs[WEIGHTS][:, time])


@both
def test_a_prefix_in_one_pass_equals_its_steps(choices):
    model, inputs = transformer(**choices), batch()
    prefix, lengths = inputs[TOKENS].copy(), (4, 1, 5)
    memory, begin = model.start(inputs[SOURCE], 7)
    for row, length in enumerate(lengths):
        prefix[row, length:] = PAD_ID
    result = model.prefill(prefix, memory, begin)
    for row, length in enumerate(lengths):
        source = inputs[SOURCE][row : row + 1]
        one_memory, state = model.start(source, 7)
        for time in range(length):
            stepped = model.step(prefix[row : row + 1, time], one_memory, state)
            state = stepped.state
        check(result.logits[row], stepped.logits[0])
        check(result.weights[row], stepped.weights[0])
        alone = slice(row, row + 1)
        row_state = tree.map_structure(lambda leaf, alone=alone: leaf[alone], result.state)
        check_states(row_state, state)
    following = model.step(prefix[:, 0], memory, result.state)
    for row, length in enumerate(lengths):
        joined = np.concatenate([prefix[row, :length], prefix[row, :1]])[None]
        whole = model({SOURCE: inputs[SOURCE][row : row + 1], TOKENS: joined})
        check(following.logits[row], whole[LOGITS][0, -1])


def gathered(model, state, parents):
    """As `reorder`, by copying the caches: each hypothesis then owns all of its past."""
    batch_size, width = parents.shape
    rows = (np.arange(batch_size)[:, None] * width + parents).reshape(-1)
    caches = state.caches
    ancestors = ops.convert_to_numpy(state.ancestors)
    first = np.arange(len(rows))[:, None] // width * width
    assert (ancestors.sum(axis=1) == 1).all()
    ancestors = ancestors.argmax(axis=1)
    slots = np.arange(tree.flatten(caches)[0].shape[2])
    time = int(ops.convert_to_numpy(state.time)[0])
    held = [max(range(slot, max(time, slot + 1), len(slots))) for slot in slots]
    caches = tree.map_structure(
        lambda leaf: np.moveaxis(
            ops.convert_to_numpy(leaf)[(first + ancestors)[:, held], :, slots][rows], 1, 2
        ),
        caches,
    )
    own = np.broadcast_to(np.tile(np.arange(width), batch_size)[:, None], ancestors.shape)
    time, added = tree.map_structure(
        lambda leaf: ops.convert_to_numpy(leaf)[rows], (state.time, state.added)
    )
    own = own[:, None, :] == np.arange(width)[:, None]
    return state._replace(time=time, added=added, ancestors=own, caches=caches)


@both
def test_reordering_by_ancestors_equals_copied_caches_and_the_whole_sequence(choices):
    model, inputs, width = transformer(**choices), batch(), 4
    random = np.random.default_rng(3)
    memory, state = model.start(inputs[SOURCE], 8)
    state = model.prefill(inputs[TOKENS][:, :2], memory, state).state
    state = copied = model.widen(state, width)
    said = np.repeat(inputs[TOKENS][:, :2], width, axis=0)
    for _ in range(6):
        tokens = random.integers(1, VOCABULARY, 3 * width).astype("int32")
        said = np.concatenate([said, tokens[:, None]], axis=1)
        result = model.step(tokens, memory, state)
        expected = model.step(tokens, memory, copied)
        check(result.logits, expected.logits)
        check(result.weights, expected.weights)
        source = np.repeat(inputs[SOURCE], width, axis=0)
        check(result.logits, model({SOURCE: source, TOKENS: said})[LOGITS][:, -1])
        parents = random.integers(0, width, (3, width)).astype("int32")
        state, copied = (
            model.reorder(result.state, parents),
            gathered(model, expected.state, parents),
        )
        said = said[(np.arange(3)[:, None] * width + parents).reshape(-1)]


def test_weights_of_a_chosen_layer():
    model, inputs = transformer(weights_layer=0), batch()
    memory, state = model.start(inputs[SOURCE], 3)
    result = model.step(inputs[TOKENS][:, 0], memory, state)
    cross = model.attention(inputs).cross[0]
    check(result.weights, ops.mean(cross, axis=1)[:, 0])


def test_steps_under_bfloat16_keep_their_weights_cast():
    keras.config.set_dtype_policy("mixed_bfloat16")
    model, inputs = transformer(), batch()
    memory, state = model.start(inputs[SOURCE], 3)
    kinds = {leaf.dtype.name for leaf in tree.flatten(memory) if leaf is not None}
    assert kinds == {"bool", "bfloat16"}
    result = model.step(inputs[TOKENS][:, 0], memory, state)
    assert result.logits.dtype == result.weights.dtype == "float32"
    check(result.logits, model(inputs)[LOGITS][:, 0], 0.2)


def test_learned_positions_end():
    model = transformer(positions="learned", max_sequence_length=7)
    with pytest.raises(ValueError, match=r"at most 7 positions\. Received: 8"):
        model.start(batch()[SOURCE], 8)


@pytest.mark.parametrize(
    "choices",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param(MODERN["rotary"], marks=pytest.mark.systems),
        pytest.param(MODERN["relative"], marks=pytest.mark.slow),
    ],
)
def test_steps_in_a_graph_and_under_xla_equal_plain(choices):
    model, inputs = transformer(num_layers=1, **choices), batch()
    arrays = [tf.constant(inputs[SOURCE]), tf.constant(inputs[TOKENS])]
    expected = search(model, *arrays)
    unknown = [tf.TensorSpec((None, None), "int32"), tf.TensorSpec((None, 5), "int32")]
    graph = tf.function(lambda *arrays: search(model, *arrays), input_signature=unknown)
    kinds = {operation.type for operation in graph.get_concrete_function().graph.get_operations()}
    assert not any(kind.startswith("Xla") for kind in kinds)
    windowed = "sliding_window" in choices
    assert ("TensorScatterUpdate" if windowed else "ScatterNdNonAliasingAdd") in kinds
    check(graph(*arrays), expected)
    check(tf.function(lambda *arrays: search(model, *arrays), jit_compile=True)(*arrays), expected)


@pytest.mark.systems
@pytest.mark.parametrize("choices", [{}, MODERN["rotary"]])
def test_an_empty_batch_has_empty_answers(choices):
    model, unknown = transformer(num_layers=1, **choices), tf.TensorSpec((None, None), "int32")

    def answer(source, tokens):
        memory, state = model.start(source, 7)
        state = model.widen(model.prefill(tokens, memory, state).state, 3)
        state = model.reorder(state, ops.zeros((ops.shape(source)[0], 3), "int32"))
        return model.step(ops.repeat(tokens[:, 0], 3), memory, state).logits

    graph = tf.function(answer, input_signature=[unknown, unknown])
    for call in (answer, graph):
        assert call(tf.zeros((0, 7), "int32"), tf.zeros((0, 2), "int32")).shape == (0, VOCABULARY)


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_steps_on_another_backend(backend, tmp_path):
    run_module("tests.models.tiny_transformer", tmp_path / "found.npz", backend=backend)
    inputs = batch()
    expected = search(transformer(num_layers=1), inputs[SOURCE], inputs[TOKENS])
    with np.load(tmp_path / "found.npz") as saved:
        check(saved["logits"], expected)
        for name, choices in MODERN.items():
            modern = transformer(num_layers=1, **choices)
            check(saved[name], search(modern, inputs[SOURCE], inputs[TOKENS]))
        logits = tf.convert_to_tensor(expected[0, :3])
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = summed_loss(logits, inputs[TOKENS])
        check(saved["slope"], tape.gradient(loss, logits))
