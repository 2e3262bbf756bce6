"""End-to-end memory networks against their slow twin, and by equivalences."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.layers import MemoryNetwork, SentenceEncoder
from keras_attn.models import QuestionAnswerer
from keras_attn.ops import memory_hop, sentence_ages
from tests.reference import memory_network as slow

RANDOM = np.random.default_rng(5)
QUESTION = RANDOM.integers(1, 13, (3, 3)).astype("int32")
STORY = RANDOM.integers(1, 13, (3, 7, 5)).astype("int32")
QUESTION[1, 2:] = 0
STORY[0, 1, 3:] = STORY[1, 4:] = STORY[2] = 0


def network(**options):
    """A network of distinct primes, and its weights by name."""
    layer = MemoryNetwork(13, 11, **{"num_hops": 2, "seed": 3, **options})
    layer(QUESTION, STORY)
    arrays = {
        "words": [table.numpy() for table in layer.tables],
        "times": [table.numpy() for table in layer.times],
    }
    if layer.tying == "layer_wise":
        arrays |= {
            "question": layer.question_table.numpy(),
            "transition": layer.transition.numpy(),
        }
    return layer, arrays


@pytest.mark.parametrize("tying", ["adjacent", "layer_wise"])
@pytest.mark.parametrize("encoding", ["position", "bag"])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("empty", [False, True])
def test_it_equals_the_slow_twin(tying, encoding, linear, empty):
    options = {"num_hops": 3, "memory_size": 5, "encoding": encoding, "tying": tying}
    options["empty_memories"] = empty
    layer, weights = network(linear_start=linear, **options)
    state, looked = layer(QUESTION, STORY, return_attention_scores=True)
    for row in range(3):
        expected = slow.network(
            QUESTION[row], STORY[row], weights, 3, 5, encoding, tying, linear, empty
        )
        np.testing.assert_allclose(state[row], expected[0], atol=1e-6)
        np.testing.assert_allclose(looked[row], expected[1], atol=1e-6)


def test_sentences_equal_the_slow_twin_and_nil_has_no_vector():
    for encoding in ("position", "bag"):
        layer = SentenceEncoder(13, 11, encoding)
        vectors = layer(STORY)
        table = layer.table.numpy()
        for row, place in np.ndindex(3, 7):
            expected = slow.sentence(STORY[row, place], table, encoding)
            np.testing.assert_allclose(vectors[row, place], expected, atol=1e-6)
        assert not np.any(vectors[2])
        np.testing.assert_array_equal(vectors._keras_mask, STORY.any(-1))


def test_the_nil_vector_stays_zero_in_training():
    layer, _ = network()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(layer(QUESTION, STORY) @ layer.answer_kernel()))
    for gradient in tape.gradient(loss, layer.tables):
        gradient = tf.convert_to_tensor(gradient).numpy()
        assert not gradient[0].any() and gradient.any()
    assert not np.any(np.array(layer.answer_kernel())[:, 0])


def test_order_counts_by_position_and_not_in_a_bag():
    turned = STORY[:1, :1, ::-1]
    for encoding, same in (("bag", True), ("position", False)):
        layer = SentenceEncoder(13, 11, encoding)
        assert np.allclose(layer(STORY[:1, :1]), layer(turned), atol=1e-6) == same


@pytest.mark.parametrize("empty", [False, True])
def test_padding_changes_nothing(empty):
    layer, _ = network(empty_memories=empty)
    state, looked = layer(QUESTION, STORY, return_attention_scores=True)
    wide = np.pad(STORY, [(0, 0), (0, 3), (0, 2)])
    long = np.pad(QUESTION, [(0, 0), (0, 5)])
    again, weights = layer(long, wide, return_attention_scores=True)
    np.testing.assert_allclose(again, state, atol=1e-6)
    np.testing.assert_allclose(weights[..., :7], looked, atol=1e-6)
    assert not np.any(weights[..., 7:])
    if empty:
        assert np.all(np.sum(weights, -1)[:2] < 0.9) and not np.any(weights[2])
    else:
        np.testing.assert_allclose(np.sum(weights, -1), [[1, 1], [1, 1], [0, 0]], atol=1e-6)


def test_of_a_long_story_the_newest_sentences_are_read():
    layer, _ = network(memory_size=3)
    state, looked = layer(QUESTION[:1], STORY[:1], return_attention_scores=True)
    np.testing.assert_allclose(layer(QUESTION[:1], STORY[:1, -3:]), state, atol=1e-6)
    assert not np.any(looked[..., :4]) and np.all(looked[..., 4:])
    dropped = QuestionAnswerer(layer).dropped(STORY)
    np.testing.assert_array_equal(dropped, [4, 1, 0])


def test_an_empty_story_and_a_batch_of_one_work():
    layer, weights = network()
    state = layer(QUESTION[2:], STORY[2:])
    expected = slow.sentence(QUESTION[2], weights["words"][0], "position")
    np.testing.assert_allclose(state[0], expected, atol=1e-6)
    alone = layer(QUESTION[:1], STORY[:1])[0]
    np.testing.assert_allclose(alone, layer(QUESTION, STORY)[0], atol=1e-6)
    assert np.isfinite(layer(QUESTION, STORY[:, :0])).all()


def test_noise_leaves_gaps_in_training_alone():
    layer, _ = network(memory_noise=0.5)
    still = layer(QUESTION, STORY, training=False)
    np.testing.assert_array_equal(layer(QUESTION, STORY), still)
    noisy = [np.array(layer(QUESTION, STORY, training=True)) for _ in range(2)]
    assert not np.allclose(noisy[0][:2], still[:2]) and not np.allclose(*noisy)
    ages = sentence_ages(ops.array([[True] * 4]), ops.array([[1, 0, 1, 0]]))
    np.testing.assert_array_equal(ages, [[4, 3, 1, 0]])


def test_words_are_dropped_in_training_alone():
    """Dropped words count for nothing, and those that stay keep their positions' weights."""
    layer, weights = network(memory_noise=0.0, word_dropout=0.5)
    still = layer(QUESTION, STORY, training=False)
    np.testing.assert_array_equal(layer(QUESTION, STORY), still)
    table = weights["words"][0]
    for question in QUESTION:
        rows = np.repeat(question[None], 400, axis=0)
        states = layer(rows, np.zeros((400, 0, 1), "int32"), training=True)
        whole = slow.sentence(question, table, "position")
        np.testing.assert_allclose(np.mean(states, axis=0), whole / 2, atol=0.05)
        kinds = np.unique(np.round(states, 5), axis=0)
        assert len(kinds) == 2 ** np.count_nonzero(question)


def test_ages_of_noise_stay_in_the_table():
    layer, _ = network(memory_size=7, memory_noise=0.9)
    state, looked = layer(QUESTION, STORY, return_attention_scores=True, training=True)
    assert np.isfinite(state).all()
    np.testing.assert_array_equal(np.array(looked)[0] > 0, True)


def test_a_linear_start_ends():
    layer, weights = network(linear_start=True)
    assert layer.is_linear()
    layer.end_linear_start()
    _, looked = layer(QUESTION, STORY, return_attention_scores=True)
    expected = slow.network(QUESTION[0], STORY[0], weights, 2, 50, "position", "adjacent")
    np.testing.assert_allclose(looked[0], expected[1], atol=1e-6)


def test_empty_memories_are_memories_of_zeros():
    query, memory = (RANDOM.normal(size=shape).astype("float32") for shape in ((3, 5), (3, 7, 5)))
    mask = np.arange(7) < np.array([7, 4, 0])[:, None]
    zeros, empty = np.zeros((3, 4, 5), "float32"), np.array([0, 4, 2])
    wide = np.concatenate([mask, np.arange(4) < empty[:, None]], axis=1)
    longer = np.concatenate([memory, zeros], axis=1)
    read, weights = memory_hop(query, memory, memory, mask, empty=empty)
    expected, others = memory_hop(query, longer, longer, wide)
    np.testing.assert_allclose(read, expected, atol=1e-6)
    np.testing.assert_allclose(weights, others[:, :7], atol=1e-6)
    assert not np.any(read[2])


def test_a_row_with_nan_spoils_no_other():
    query, memory = (RANDOM.normal(size=shape).astype("float32") for shape in ((3, 5), (3, 7, 5)))
    mask = np.ones((3, 7), bool)
    expected, _ = memory_hop(query, memory, memory, mask)
    query[1] = np.nan
    read, _ = memory_hop(query, memory, memory, mask)
    assert np.isnan(read[1]).all()
    np.testing.assert_allclose(np.array(read)[[0, 2]], np.array(expected)[[0, 2]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory_size": 0}, "Expected memory_size >= 1. Received: memory_size=0"),
        ({"num_hops": 0}, "Expected num_hops >= 1"),
        ({"encoding": "order"}, r"Expected encoding in \('bag', 'position'\)"),
        ({"tying": "none"}, r"Expected tying in \('adjacent', 'layer_wise'\)"),
        ({"memory_noise": 1.0}, "Expected 0 <= memory_noise < 1"),
        ({"linear_start": 1}, "Expected linear_start to be True or False"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        MemoryNetwork(13, 5, **options)
    with pytest.raises(ValueError, match="Expected input_dim >= 1"):
        SentenceEncoder(0, 5)
    with pytest.raises(ValueError, match="Expected encoding in"):
        SentenceEncoder(13, 5, "order")


@pytest.mark.systems
def test_in_a_model_of_ones_own(tmp_path):
    question, story = keras.Input((None,), dtype="int32"), keras.Input((None, None), dtype="int32")
    state = MemoryNetwork(13, 5, memory_noise=0.2)(question, story)
    model = keras.Model([question, story], keras.layers.Dense(3)(state))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit([QUESTION, STORY], np.arange(3), verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again([QUESTION, STORY]), model([QUESTION, STORY]), atol=1e-6)
