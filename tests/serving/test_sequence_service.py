"""The service of algorithmic problems: answers and heads; bad rows apart."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import (
    END_PIECE,
    ERROR,
    LONGER,
    PLANNING_PIECE,
    READ_WEIGHTS,
    SCORE,
    STEPS,
    TEXT,
    WRITE_WEIGHTS,
)
from keras_attn.layers import MemoryRNN
from keras_attn.saved.loading import load
from keras_attn.serving import export_service
from keras_attn.serving import sequence_service as service_of
from keras_attn.serving.readers.reasons import EMPTY, NOT_UTF8
from keras_attn.text.sequence_words import AnswerWords, SourceWords
from tests.quick import rows
from tests.serving.tiny_sequence_service import ANSWER, SOURCE, cell, sequence_service

WRONG = "expected words, of 3 bits each, such as '010 010'; received: "
ASKED = (
    (b"011 110", ""),
    (b"01", f"{WRONG}01"),
    (b"", EMPTY),
    (b" \t", EMPTY),
    (b"\xff", NOT_UTF8),
    (b" 011   110 101 ", ""),
    (b"011 nan", f"{WRONG}011 nan"),
)


@pytest.fixture(scope="module", params=rows(["ntm", "dnc"], {"ntm"}))
def answerer(request, service_named):
    return service_named(request.param)


def test_answers_and_reasons(answerer):
    answer = answerer.explain(tf.constant([text for text, _ in ASKED]))
    answer = {key: value.numpy() for key, value in answer.items()}
    assert [reason.decode() for reason in answer[ERROR]] == [reason for _, reason in ASKED]
    assert answer[LONGER].tolist() == [0, 0, 0, 0, 0, 1, 0]
    for row, (text, error) in enumerate(ASKED):
        steps = [step.decode() for step in answer[STEPS][row] if step]
        weights = answer[WRITE_WEIGHTS][row], answer[READ_WEIGHTS][row]
        if error:
            assert answer[TEXT][row, 0] == b"" and answer[SCORE][row, 0] == 0 and not steps
            assert not any(part.any() for part in weights)
            continue
        words = text.decode().split()
        assert steps == [*words, END_PIECE, *answer[TEXT][row, 0].decode().split()]
        for part in weights:
            assert part.any(axis=(1, 2)).sum() == 2 * len(words) + 1
            assert part.sum(axis=-1).max() <= 1 + 1e-5


def test_the_answer_is_the_models(answerer):
    vectors = SOURCE.encode(["011 110"]).vectors.to_tensor()
    logits = answerer.model(tf.pad(vectors, [[0, 0], [0, 2], [0, 0]]))[0, -2:].numpy()
    probabilities = 1 / (1 + np.exp(-logits))
    answer = answerer.answer(tf.constant(["011 110"]))
    ended = np.flatnonzero(logits[:, -1] > 0)
    last = ended[0] + 1 if len(ended) else 2
    expected = ANSWER.decode(probabilities[None], [2]).numpy()[0]
    assert answer[TEXT].numpy()[0, 0] == expected
    sure = np.log(np.maximum(probabilities, 1 - probabilities))[:last].sum()
    assert float(answer[SCORE][0, 0]) == pytest.approx(sure, abs=1e-5)


def test_planning_steps_come_before_the_answer():
    keras.utils.set_random_seed(3)
    source = SourceWords("copy", 3, longest=2, longest_answer=2, planning_steps=3)
    inputs = keras.Input((None, source.vocabulary_size))
    planner = service_of(keras.Model(inputs, MemoryRNN(cell("ntm"))(inputs)), source, ANSWER)
    answer = planner.explain(tf.constant(["011 110"]))
    words = answer[TEXT].numpy()[0, 0].decode().split()
    steps = [step.decode() for step in answer[STEPS].numpy()[0] if step]
    assert steps == ["011", "110", END_PIECE, *[PLANNING_PIECE] * 3, *words]
    vectors = source.encode(["011 110"]).vectors.to_tensor()
    logits = planner.model(tf.pad(vectors, [[0, 0], [0, 2], [0, 0]]))[:, 6:]
    expected = ANSWER.decode(tf.sigmoid(logits), [2]).numpy()
    assert expected.tolist() == answer[TEXT].numpy()[:, 0].tolist()


def test_longer_than_the_memory_is_answered(answerer):
    answer = answerer.explain(tf.constant(["101 " * 13]))
    assert len(answer[TEXT].numpy()[0, 0].split()) <= 13 and answer[LONGER].numpy()[0] == 1
    assert np.isfinite(answer[READ_WEIGHTS].numpy()).all()


def test_without_a_memory_there_are_no_weights(tmp_path):
    plain = sequence_service("lstm")
    answer = plain.explain(tf.constant(["011 110", "x"]))
    assert WRITE_WEIGHTS not in answer and READ_WEIGHTS not in answer
    assert len(answer[STEPS].numpy()[0]) == 5
    saved = load(export_service(plain, tmp_path / "model", "a card"))
    assert saved.predict(["011 110"])[0].text == answer[TEXT].numpy()[0, 0].decode()
    with pytest.raises(ValueError, match="Expected a SavedModel with views of where it looked"):
        saved.explain("011 110")


def test_words_of_another_width():
    model = sequence_service("lstm").model
    with pytest.raises(ValueError, match="Expected words of 7 channels and answers of 4"):
        service_of(model, SOURCE, AnswerWords(5))
