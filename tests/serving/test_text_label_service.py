"""The service of a text classifier: labels and weights; bad texts apart."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import CONTRIBUTIONS, ERROR, LABEL_SCORES, LABELS, SOURCE_PIECES, WEIGHTS
from keras_attn.serving import LabelService
from keras_attn.serving.readers.reasons import EMPTY, NOT_UTF8
from keras_attn.serving.writers import LabelWriter
from keras_attn.text.label_table import LabelTable
from tests.serving.tiny_labels import NAMES

TEXTS = [b"one two three", b"", "five ☂".encode(), b"\xff one", b"two " * 40]
LONG = "a source of 41 pieces, its end included (expected at most 11)"
GOOD = [0, 2]


@pytest.fixture(scope="module")
def service(service_named):
    return service_named("text_labels")


def test_answers_and_reasons(service):
    answer = {key: value.numpy() for key, value in service.explain(tf.constant(TEXTS)).items()}
    reasons = [reason.decode() for reason in answer[ERROR]]
    assert reasons == ["", EMPTY, "", NOT_UTF8, LONG]
    for row, text in enumerate(TEXTS):
        pieces = [piece.decode() for piece in answer[SOURCE_PIECES][row] if piece]
        weights = answer[WEIGHTS][row]
        if row not in GOOD:
            assert not pieces and not weights.any() and not answer[LABEL_SCORES][row].any()
            assert answer[LABELS][row].tolist() == [b"", b""]
            continue
        tokens = [*service.reader.tokenizer.encode([text]).to_list()[0], 3]
        logits, shares, gains = service.model.contributions(np.array([tokens]))
        np.testing.assert_allclose(answer[CONTRIBUTIONS][row][: len(tokens)], gains[0], atol=1e-5)
        probabilities = np.exp(logits[0]) / np.exp(logits[0]).sum()
        best = np.argsort(-probabilities)[:2]
        assert [label.decode() for label in answer[LABELS][row]] == [NAMES[id] for id in best]
        np.testing.assert_allclose(answer[LABEL_SCORES][row], probabilities[best], atol=1e-5)
        np.testing.assert_allclose(weights[: len(tokens)], shares[0], atol=1e-5)
        assert len(pieces) == len(tokens) and pieces[-1] == "</s>"
        assert not weights[len(tokens) :].any()


def test_answer_is_the_first_part_of_explain(service):
    texts = tf.constant(TEXTS)
    labels, explained = service.answer(texts), service.explain(texts)
    assert set(labels) == {LABELS, LABEL_SCORES, ERROR}
    for key, value in labels.items():
        np.testing.assert_array_equal(value, explained[key])


def test_as_many_labels_as_classes(service):
    labels = LabelWriter(LabelTable(NAMES[:2]))
    with pytest.raises(ValueError, match=r"Expected 3 labels, .*Received: 2"):
        LabelService(service.model, service.reader, labels, service.signature_functions, {})
    with pytest.raises(ValueError, match="Expected n_best >= 1"):
        LabelWriter(LabelTable(NAMES[:3]), 0)
    assert LabelWriter(LabelTable(NAMES[:3]), 9).n_best == 3
