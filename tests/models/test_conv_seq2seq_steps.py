"""The convolutional model step by step: buffers, prefixes, hypotheses, graphs."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops, tree

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS, WEIGHTS
from keras_attn.decoding import Beam, Exhaustive, decode
from tests.models.tiny_conv_seq2seq import LENGTH, TIED, batch, conv_seq2seq

both = pytest.mark.parametrize("choices", [{}, TIED], ids=["untied", "tied"])


def check(actual, expected, tolerance=2e-5):
    actual, expected = (ops.convert_to_numpy(array) for array in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@both
def test_steps_equal_the_whole_sequence(choices):
    model, inputs = conv_seq2seq(**choices), batch()
    outputs = model(inputs)
    memory, state = model.start(inputs, 7)
    for time in range(LENGTH):
        result = model.step(inputs[TOKENS][:, time], memory, state)
        state = result.state
        assert all(leaf.shape[0] == 3 for leaf in tree.flatten(state))
        check(result.logits, outputs[LOGITS][:, time])
        check(result.weights, outputs[WEIGHTS][:, time])
    widths = [width for _, width in model.config.decoder_layers]
    assert [buffer.shape[1] for buffer in state.buffers] == [width - 1 for width in widths]


def test_a_prefix_equals_its_steps():
    model, inputs = conv_seq2seq(), batch()
    prefix, lengths = inputs[TOKENS].copy(), (4, 1, 5)
    memory, begin = model.start(inputs[SOURCE], 7)
    for row, length in enumerate(lengths):
        prefix[row, length:] = PAD_ID
    result = model.prefill(prefix, memory, begin)
    following = model.step(prefix[:, 0], memory, result.state)
    for row, length in enumerate(lengths):
        joined = np.concatenate([prefix[row, :length], prefix[row, :1]])[None]
        whole = model({SOURCE: inputs[SOURCE][row : row + 1], TOKENS: joined})
        check(result.logits[row], whole[LOGITS][0, -2])
        check(result.weights[row], whole[WEIGHTS][0, -2])
        check(following.logits[row], whole[LOGITS][0, -1])


@both
def test_reordered_hypotheses_equal_the_whole_sequence(choices):
    model, inputs, width = conv_seq2seq(**choices), batch(), 4
    random = np.random.default_rng(3)
    memory, state = model.start(inputs[SOURCE], 8)
    state = model.widen(model.prefill(inputs[TOKENS][:, :2], memory, state).state, width)
    said = np.repeat(inputs[TOKENS][:, :2], width, axis=0)
    source = np.repeat(inputs[SOURCE], width, axis=0)
    for _ in range(5):
        tokens = random.integers(1, 13, 3 * width).astype("int32")
        said = np.concatenate([said, tokens[:, None]], axis=1)
        result = model.step(tokens, memory, state)
        whole = model({SOURCE: source, TOKENS: said})
        check(result.logits, whole[LOGITS][:, -1])
        check(result.weights, whole[WEIGHTS][:, -1])
        parents = random.integers(0, width, (3, width)).astype("int32")
        state = model.reorder(result.state, parents)
        said = said[(np.arange(3)[:, None] * width + parents).reshape(-1)]


def test_a_wide_beam_is_exhaustive():
    model, source = conv_seq2seq(target_vocabulary_size=7), batch()[SOURCE]
    found, best = (decode(model, source, strategy, 3) for strategy in (Beam(70), Exhaustive()))
    np.testing.assert_array_equal(found.tokens[:, 0], best.tokens[:, 0])
    check(found.scores[:, 0], best.scores[:, 0])


def test_steps_under_bfloat16_keep_their_weights_cast():
    keras.config.set_dtype_policy("mixed_bfloat16")
    model, inputs = conv_seq2seq(), batch()
    memory, state = model.start(inputs[SOURCE], 3)
    low = memory._replace(logits=(), key_mask=())
    assert {leaf.dtype.name for leaf in tree.flatten(low) if leaf is not None} == {"bfloat16"}
    result = model.step(inputs[TOKENS][:, 0], memory, state)
    assert result.logits.dtype == result.weights.dtype == "float32"
    check(result.logits, model(inputs)[LOGITS][:, 0], 0.05)


def test_learned_positions_end():
    with pytest.raises(ValueError, match=r"at most 19 positions\. Received: 23"):
        conv_seq2seq().start(batch()[SOURCE], 23)


@pytest.mark.systems
def test_steps_in_a_graph_under_xla_and_of_an_empty_batch():
    layers = {"encoder_layers": [(7, 3)], "decoder_layers": [(3, 2)]}
    model, inputs = conv_seq2seq(**layers), batch()

    def search(source, tokens):
        memory, state = model.start(source, 7)
        state = model.widen(model.prefill(tokens[:, :2], memory, state).state, 3)
        state = model.reorder(state, ops.zeros((ops.shape(source)[0], 3), "int32"))
        return model.step(ops.repeat(tokens[:, 2], 3), memory, state).logits

    arrays = [tf.constant(inputs[SOURCE]), tf.constant(inputs[TOKENS])]
    expected = search(*arrays)
    unknown = [tf.TensorSpec((None, None), "int32"), tf.TensorSpec((None, 5), "int32")]
    graph = tf.function(search, input_signature=unknown)
    kinds = {operation.type for operation in graph.get_concrete_function().graph.get_operations()}
    assert not any(kind.startswith("Xla") for kind in kinds)
    check(graph(*arrays), expected)
    check(tf.function(search, jit_compile=True)(*arrays), expected)
    for call in (search, graph):
        assert call(tf.zeros((0, 7), "int32"), tf.zeros((0, 5), "int32")).shape == (0, 17)
