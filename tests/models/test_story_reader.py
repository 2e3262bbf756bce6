"""`StoryReader`: what it reads, what it leaves out, and where an answer comes from."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.contracts import QUESTION, STORY
from keras_attn.layers import DNCCell, MemoryRNN, NTMCell, SentenceEncoder
from keras_attn.models import StoryReader
from keras_attn.ops import steps_read
from tests.quick import rows

B, M, W, V = 3, 5, 4, 13


MATCHED = {"match_question": True, "planning_steps": 2}


def reader(by_word=False, memory_size=M, cell=DNCCell, dropout=0.0, **options):
    keras.utils.set_random_seed(3)
    memory = MemoryRNN(cell(keras.layers.LSTMCell(7), 7, num_slots=11, slot_dim=3))
    model = StoryReader(SentenceEncoder(V, 5), memory, memory_size, by_word, dropout, 2, **options)
    model.build()
    model.asked.assign(np.linspace(-0.7, 0.5, 5))
    return model


def batch():
    random = np.random.default_rng(5)
    story = random.integers(1, V, (B, M, W)).astype("int32")
    question = random.integers(1, V, (B, 3)).astype("int32")
    story[0, :, 2:], story[1, 3:], question[1, 2:] = 0, 0, 0
    return {STORY: story, QUESTION: question}


def numpy(values):
    return [ops.convert_to_numpy(value) for value in values]


def padded(inputs):
    return {
        STORY: np.pad(inputs[STORY], [(0, 0), (0, 2), (0, 3)]),
        QUESTION: np.pad(inputs[QUESTION], [(0, 0), (0, 5)]),
    }


@pytest.mark.parametrize("by_word", rows([False, True], [True]))
@pytest.mark.parametrize("cell", rows([DNCCell, NTMCell], [NTMCell]))
@pytest.mark.parametrize("options", rows([{}, MATCHED], [MATCHED]))
def test_each_row_alone_and_with_more_padding_has_the_same_answer(by_word, cell, options):
    model, inputs = reader(by_word, cell=cell, **options), batch()
    logits, weights = numpy(model.hops(inputs))
    np.testing.assert_allclose(numpy([model(inputs)])[0], logits, atol=1e-6)
    more, further = numpy(model.hops(padded(inputs)))
    np.testing.assert_allclose(more, logits, atol=1e-5)
    np.testing.assert_allclose(further[:, :, :M], weights, atol=1e-5)
    assert not further[:, :, M:].any() and not weights[1, :, 3:].any()
    assert (weights >= 0).all() and (weights.sum(-1) <= 1 + 1e-5).all()
    alone = numpy(model.hops({key: value[1:2] for key, value in inputs.items()}))[0]
    np.testing.assert_allclose(alone[0], logits[1], atol=1e-5)


def test_the_steps_are_the_sentences_then_the_question():
    model, inputs = reader(), batch()
    vectors = model.encoder(inputs[STORY])[:1]
    question = model.encoder(inputs[QUESTION][:1, None]) + model.asked
    outputs = model.memory(ops.concatenate([vectors, question], axis=1))
    np.testing.assert_allclose(model.answer(outputs[:, -1])[0], model(inputs)[0], atol=1e-6)


@pytest.mark.parametrize("by_word", [False, True])
def test_steps_are_matched_with_the_question_which_is_read_again(by_word):
    model, inputs = reader(by_word, **MATCHED), batch()
    story, question = inputs[STORY][2:], inputs[QUESTION][2:]
    whole = numpy([model.encoder(question[:, None])])[0]
    asked = whole
    if by_word:
        story, asked = story.reshape(1, -1, 1), numpy([model.encoder(question[..., None])])[0]
    question_steps = np.concatenate([asked, whole, whole], axis=1) + np.linspace(-0.7, 0.5, 5)
    steps = np.concatenate([numpy([model.encoder(story)])[0], question_steps], axis=1)
    common = np.broadcast_to(whole, steps.shape)
    steps = np.concatenate([steps, common, 10 * steps * common], axis=-1)
    expected = model.answer(model.memory(ops.cast(steps, "float32"))[:, -1])
    np.testing.assert_allclose(expected[0], model(inputs)[2], atol=1e-5)


def test_words_are_steps_of_their_own():
    model, inputs = reader(by_word=True), batch()
    words = [word for sentence in inputs[STORY][0] for word in sentence if word]
    vectors = model.encoder(np.array(words, "int32")[None, :, None])
    question = model.encoder(inputs[QUESTION][:1, :, None]) + model.asked
    outputs = model.memory(ops.concatenate([vectors, question], axis=1))
    np.testing.assert_allclose(model.answer(outputs[:, -1])[0], model(inputs)[0], atol=1e-5)


def test_the_oldest_sentences_of_a_long_story_are_not_read():
    model, inputs = reader(memory_size=2), batch()
    assert numpy([model.dropped(inputs[STORY])])[0].tolist() == [3, 1, 3]
    short = {**inputs, STORY: inputs[STORY].copy()}
    short[STORY][0, :3], short[STORY][1, :1], short[STORY][2, :3] = 7, 7, 7
    np.testing.assert_allclose(model(short), model(inputs), atol=1e-6)
    weights = numpy(model.hops(inputs))[1]
    assert not weights[0, :, :3].any() and weights[0, :, 3:].any()


def test_the_order_of_the_sentences_matters_and_dropout_only_in_training():
    model, inputs = reader(dropout=0.5), batch()
    turned = {**inputs, STORY: inputs[STORY][:, ::-1]}
    assert np.abs(numpy([model(turned) - model(inputs)])[0][0]).max() > 1e-4
    np.testing.assert_array_equal(model(inputs), model(inputs, training=False))
    assert np.abs(numpy([model(inputs, training=True) - model(inputs)])[0]).max() > 1e-3


def test_what_is_read_was_written_somewhere():
    random = np.random.default_rng(7)
    write = random.dirichlet(np.ones(5), (2, 3, 2)) * 0.6
    read = random.dirichlet(np.ones(5), (2, 3))
    shares = numpy([steps_read(write, read)])[0]
    for row in range(2):
        held = np.zeros((3, 5))
        for step, weights in enumerate(np.minimum(write[row].sum(1), 1)):
            held *= 1 - weights
            held[step] = weights
        np.testing.assert_allclose(shares[row], read[row] @ held.T, atol=1e-6)


def test_bad_arguments():
    memory = MemoryRNN(DNCCell(keras.layers.LSTMCell(7), 7, num_slots=11, slot_dim=3))
    with pytest.raises(ValueError, match=r"Expected a SentenceEncoder\. Received: encoder=7"):
        StoryReader(7, memory)
    with pytest.raises(ValueError, match=r"Expected a MemoryRNN\. Received: memory=None"):
        StoryReader(SentenceEncoder(V, 5), None)
    with pytest.raises(ValueError, match="memory_size"):
        StoryReader(SentenceEncoder(V, 5), memory, 0)
    with pytest.raises(ValueError, match="planning_steps=-1"):
        StoryReader(SentenceEncoder(V, 5), memory, planning_steps=-1)
    with pytest.raises(ValueError, match="dropout"):
        StoryReader(SentenceEncoder(V, 5), memory, dropout=1.5)


def test_a_saved_model_steps_as_before(tmp_path):
    model, inputs = reader(**MATCHED), batch()
    model.save(tmp_path / "reader.keras")
    again = keras.saving.load_model(tmp_path / "reader.keras")
    np.testing.assert_allclose(again(inputs), model(inputs), atol=1e-6)
