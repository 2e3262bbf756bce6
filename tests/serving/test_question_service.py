"""The service of a question answerer: answers and hops; bad rows apart."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import (
    DROPPED,
    ERROR,
    LABEL_SCORES,
    LABELS,
    QUESTION,
    SENTENCES,
    STORY,
    WEIGHTS,
)
from keras_attn.serving import LabelService
from keras_attn.serving.readers.questions import EMPTY_QUESTION, EMPTY_STORY
from keras_attn.serving.readers.reasons import NOT_UTF8
from keras_attn.serving.writers import LabelWriter
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SymbolTable
from tests.serving.tiny_labels import WORDS

ASKED = (
    (b"Mary went to the garden.", b"Where is Mary?", "an unknown word: the"),
    (b"Mary went to garden.\r\n\n John went to \xc3\xbcn\xc3\xaf. ", b"Where is Mary?", ""),
    (b"", b"Where is Mary?", EMPTY_STORY),
    (b" \n ...", b"Where is Mary?", EMPTY_STORY),
    (b"Mary went to garden.", b" ? ", EMPTY_QUESTION),
    (b"Mary went to garden.", b"Where is Zoe or Mary?", "an unknown word: zoe"),
    (b"\xff", b"Where is Mary?", NOT_UTF8),
    (b"Mary went to garden.", b"\xff", NOT_UTF8),
    (b"\n".join([b"Mary went to garden."] * 5), b"Where is Mary?", ""),
)


@pytest.fixture(scope="module")
def service(service_named):
    return service_named("questions")


def asked(rows=ASKED):
    return [tf.constant([row[column] for row in rows]) for column in (0, 1)]


def test_answers_and_reasons(service):
    answer = {key: value.numpy() for key, value in service.explain(*asked()).items()}
    assert [reason.decode() for reason in answer[ERROR]] == [row[2] for row in ASKED]
    for row, (story, question, error) in enumerate(ASKED):
        sentences = [sentence.decode() for sentence in answer[SENTENCES][row] if sentence]
        weights = answer[WEIGHTS][row]
        if error:
            assert not sentences and not weights.any() and not answer[LABEL_SCORES][row].any()
            assert answer[LABELS][row].tolist() == [b"", b""] and answer[DROPPED][row] == 0
            continue
        lines = [line.strip() for line in story.decode().split("\n") if line.strip()]
        assert sentences == lines
        tokens = [
            WORDS.encode(plain_words(tf.constant(texts))).to_tensor()
            for texts in (lines, [question.decode()])
        ]
        logits, shares = service.model.hops({STORY: tokens[0][None], QUESTION: tokens[1]})
        probabilities = np.exp(logits[0]) / np.exp(logits[0]).sum()
        best = np.argsort(-probabilities[4:])[:2] + 4
        assert [label.decode() for label in answer[LABELS][row]] == [
            WORDS.names[i - 4] for i in best
        ]
        np.testing.assert_allclose(answer[LABEL_SCORES][row], probabilities[best], atol=1e-5)
        np.testing.assert_allclose(weights[:, : len(lines)], shares[0], atol=1e-5)
        assert answer[DROPPED][row] == max(len(lines) - 3, 0)


def test_answer_is_the_first_part_of_explain(service):
    answered, explained = service.answer(*asked()), service.explain(*asked())
    assert set(answered) == {LABELS, LABEL_SCORES, DROPPED, ERROR}
    for key, value in answered.items():
        np.testing.assert_array_equal(value, explained[key])


def test_bad_arguments(service):
    with pytest.raises(ValueError, match=r"Expected n_best >= 1\. Received: n_best=0"):
        LabelWriter(WORDS, 0)
    words = LabelWriter(SymbolTable(["one"]))
    with pytest.raises(ValueError, match=r"Expected 13 labels, one per class of the model.*: 5"):
        LabelService(service.model, service.reader, words, service.signature_functions, {})
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many questions as stories"):
        service.answer(tf.constant(["a", "b"]), tf.constant(["a"]))
