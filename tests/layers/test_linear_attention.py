"""Linear attention against its slow twin, in chunks, and step by step with a state."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.layers import LinearAttention
from keras_attn.ops import gather_hypotheses, positive_features
from tests.reference import linear_attention as twin

RANDOM = np.random.default_rng(7)
QUERY = RANDOM.normal(size=(2, 3, 5)).astype("float32")
VALUE = RANDOM.normal(size=(2, 11, 7)).astype("float32")
KEY = RANDOM.normal(size=(2, 11, 13)).astype("float32")
PADDING = np.arange(11) < np.array([[4], [11]])
PAIRS = RANDOM.random((2, 3, 11)) < 0.5
CAUSAL = {"use_causal_mask": True}


def attention(*shapes, groups=2, **options):
    """6 heads of d_k 3 and d_v 5, weights at random."""
    layer = LinearAttention(6, 3, 5, num_key_value_heads=groups, **options)
    layer.build(*shapes)
    for weight in layer.weights:
        weight.assign(RANDOM.normal(0, 0.7, weight.shape))
    return layer


def check_twin(layer, query, value, key, arguments, sees):
    if value is None:
        outputs, weights = layer(query, return_attention_scores=True, **arguments)
        value = key = query
    else:
        given = {"value": value, "key": key, **arguments}
        outputs, weights = layer(query, return_attention_scores=True, **given)
    named = {weight.name: np.array(weight, "float64") for weight in layer.weights}
    for row in range(len(query)):
        expected = twin.attention(
            named, query[row], value[row], key[row], lambda t, s, row=row: sees(row, t, s)
        )
        np.testing.assert_allclose(outputs[row], expected[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sees"),
    [
        ({}, lambda b, t, s: True),
        ({"value_mask": PADDING}, lambda b, t, s: PADDING[b, s]),
        ({"attention_mask": PAIRS}, lambda b, t, s: PAIRS[b, t, s]),
        (CAUSAL, lambda b, t, s: s <= t),
        (
            {"attention_mask": PAIRS, "key_mask": PADDING, **CAUSAL},
            lambda b, t, s: PAIRS[b, t, s] and PADDING[b, s] and s <= t,
        ),
    ],
)
def test_cross_attention_equals_its_twin(arguments, sees):
    layer = attention(QUERY.shape, VALUE.shape, KEY.shape)
    check_twin(layer, QUERY, VALUE, KEY, arguments, sees)


@pytest.mark.parametrize("chunk_size", [1, 3, 11, 64])
def test_causal_self_attention_equals_its_twin_in_chunks(chunk_size):
    layer = attention(VALUE.shape, groups=None, chunk_size=chunk_size)
    padded = np.where(PADDING[..., None], VALUE, 0)  # As which padded queries are read.
    arguments = {"mask": PADDING, **CAUSAL}
    check_twin(layer, padded, None, None, arguments, lambda b, t, s: s <= t and PADDING[b, s])


def test_more_queries_than_keys():
    layer = attention(VALUE.shape, QUERY.shape, chunk_size=2)
    check_twin(layer, VALUE, QUERY, QUERY, CAUSAL, lambda b, t, s: s <= t)


def test_keys_that_no_query_sees_are_excluded():
    layer = attention(QUERY.shape, VALUE.shape)
    later = np.where(np.arange(11)[:, None] < 3, VALUE, np.nan)
    with tf.GradientTape() as tape:
        outputs = layer(QUERY, later, **CAUSAL)
        loss = tf.reduce_sum(outputs)
    np.testing.assert_array_equal(outputs, layer(QUERY, VALUE, **CAUSAL))
    assert all(np.isfinite(slope).all() for slope in tape.gradient(loss, layer.trainable_weights))


def test_an_unknown_length():
    layer = attention(VALUE.shape, chunk_size=3)
    for options in ({}, CAUSAL):
        call = tf.function(lambda inputs, options=options: layer(inputs, **options))
        open_call = call.get_concrete_function(tf.TensorSpec((None, None, 7)))
        for length in (1, 7, 11):
            inputs = VALUE[:, :length]
            expected = layer(inputs, **options)
            np.testing.assert_allclose(open_call(tf.constant(inputs)), expected, atol=1e-5)


def test_long_sequences_have_no_matrix_of_scores():
    layer = LinearAttention(1, 1, chunk_size=16)
    call = tf.function(lambda inputs: layer(inputs, **CAUSAL))
    graph = call.get_concrete_function(tf.TensorSpec((1, 4096, 1))).graph
    sizes = [out.shape.num_elements() or 0 for op in graph.get_operations() for out in op.outputs]
    assert 4096 * 16 in sizes and max(sizes) == 4096 * 16


def test_fully_masked_rows_are_zero():
    layer = attention(QUERY.shape, VALUE.shape, use_bias=False)
    query, nothing = tf.Variable(QUERY), np.zeros((2, 11), bool)
    for options in ({}, CAUSAL):
        with tf.GradientTape() as tape:
            outputs, weights = layer(
                query, VALUE, value_mask=nothing, return_attention_scores=True, **options
            )
            loss = tf.reduce_sum(tf.sin(outputs)) + tf.reduce_sum(weights**2)
        assert not np.any(outputs) and not np.any(weights)
        assert not np.any(tape.gradient(loss, query))


def test_features_are_exact_far_below_zero():
    inputs = np.array([-80.0, -20.0, -1e-3, 0.0, 1e-3, 30.0], "float32")
    exact = [np.exp(x) if x < 0 else x + 1 for x in inputs.astype("float64")]
    np.testing.assert_allclose(positive_features(inputs), exact, rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(variable := tf.constant(inputs))
        outputs = positive_features(variable)
    slopes = np.where(inputs < 0, exact, 1)
    np.testing.assert_allclose(tape.gradient(outputs, variable), slopes, rtol=1e-6)


def test_steps_with_a_state_equal_the_whole_sequence():
    layer = attention(VALUE.shape, chunk_size=3)
    expected = layer(VALUE, **CAUSAL)
    state, begin = layer.empty_state(2), 0
    assert [part.shape for part in state] == [(2, 2, 3, 5), (2, 2, 3)]
    for steps in (1, 4, 1, 5):
        part = slice(begin, begin + steps)
        rows, state = layer.extend(VALUE[:, part].reshape(2 * steps, 7), state, steps)
        wanted = expected.numpy()[:, part].reshape(2 * steps, -1)
        np.testing.assert_allclose(rows, wanted, rtol=1e-4, atol=1e-5)
        begin += steps


def test_hypotheses_take_the_states_of_their_parents():
    layer, width, length = attention((None, None, 7)), 3, 5
    inputs = RANDOM.normal(size=(length, 2 * width, 7)).astype("float32")
    parents = RANDOM.integers(0, width, (length, 2, width)).astype("int32")
    state, history = layer.empty_state(2 * width), np.zeros((2 * width, 0, 7), "float32")
    for step in range(length):
        state = gather_hypotheses(state, ops.convert_to_tensor(parents[step]))
        rows = (np.arange(2)[:, None] * width + parents[step]).reshape(-1)
        history = np.concatenate([history[rows], inputs[step][:, None]], axis=1)
        outputs, state = layer.extend(inputs[step], state)
        expected = layer(history, **CAUSAL)[:, -1]
        np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)
    assert len({*map(tuple, parents.reshape(-1, width).tolist())} - {(0, 1, 2)}) > 2


def test_steps_that_are_not_real_leave_the_state():
    layer = attention(VALUE.shape)
    real = PADDING[:, :5]
    inputs = np.where(real[..., None], VALUE[:, :5], np.nan)
    _, state = layer.extend(inputs.reshape(10, 7), layer.empty_state(2), 5, real)
    for row, length in enumerate((4, 5)):
        alone = VALUE[row : row + 1, :length].reshape(length, 7)
        _, wanted = layer.extend(alone, layer.empty_state(1), length)
        for part, expected in zip(state, wanted):
            np.testing.assert_allclose(part[row], expected[0], rtol=1e-5, atol=1e-5)


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: chunk_size=0"):
        LinearAttention(2, 3, chunk_size=0)
    with pytest.raises(ValueError, match=r"Expected dropout=0 .* Received: dropout=0.5"):
        LinearAttention(2, 3, dropout=0.5)


def test_queries_far_below_zero_still_attend():
    layer = LinearAttention(1, 1, use_bias=False)
    inputs = np.full((1, 3, 2), -60.0, "float32")
    layer.build(inputs.shape)
    layer.set_weights([np.ones_like(weight) / 2 for weight in layer.get_weights()])
    _, weights = layer(inputs, return_attention_scores=True)
    np.testing.assert_allclose(weights, np.full((1, 1, 3, 3), 1 / 3), rtol=1e-5)
