"""The probability of a given caption: equal to decoding's, and to a slow softmax."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import (
    END_ID,
    ERROR,
    IMAGE,
    LOGITS,
    SCORE,
    START_ID,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
)
from keras_attn.decoding import Beam, Greedy
from keras_attn.images.formats.reasons import EMPTY, UNKNOWN
from keras_attn.saved.loading import load
from tests.serving.tiny_service import LENGTH, PICTURES, captions_of, picture

CAPTIONS = ["a red dog", "two  BLUE dogs ☂", "a dog", "a " * LENGTH, ""]


@pytest.mark.parametrize("strategy", [Greedy(), Beam(3, alpha=0.0)])
def test_equals_the_token_scores_of_decoding(tiny_service, strategy):
    service = captions_of(tiny_service.model, tiny_service.writer.vocabulary, strategy)
    pictures = tf.constant([picture(seed) for seed in range(7)])
    answer = service.explain(pictures)
    ended = np.any(answer[TOKENS][:, 0] == END_ID, axis=-1)
    assert ended.sum() >= 4 and len(set(answer[TEXT].numpy()[ended, 0])) >= 3
    scored = service.score(pictures, answer[TEXT][:, 0])
    scores = answer[TOKEN_SCORES].numpy()[:, 0]
    np.testing.assert_allclose(scored[TOKEN_SCORES].numpy()[ended], scores[ended], atol=1e-5)
    np.testing.assert_allclose(scored[SCORE].numpy()[ended], scores[ended].sum(-1), atol=1e-5)
    np.testing.assert_allclose(scored[SCORE].numpy()[ended], answer[SCORE][:, 0][ended], atol=1e-5)
    cut_off = scored[ERROR].numpy()[~ended]
    assert all(b"expected at most 7" in error for error in cut_off)
    assert len(cut_off) or strategy != Greedy()


def test_equals_a_slow_softmax(tiny_service):
    data, caption = picture(5), "a red dog"
    pieces = tiny_service.writer.vocabulary.encode([caption]).to_list()[0]
    inputs, targets = [START_ID, *pieces], [*pieces, END_ID]
    image = tiny_service.reader.picture_format.decode(tf.constant(data))[None]
    batch = {IMAGE: image, TOKENS: tf.constant([[inputs]])}
    logits = np.asarray(tiny_service.model(batch)[LOGITS], "float64")[0, 0]
    expected = [
        row[target] - row.max() - np.log(sum(np.exp(value - row.max()) for value in row))
        for row, target in zip(logits, targets)
    ]
    scored = tiny_service.score(tf.constant([data]), tf.constant([caption]))
    np.testing.assert_allclose(scored[TOKEN_SCORES][0, : len(targets)], expected, atol=1e-5)
    assert not np.any(scored[TOKEN_SCORES][0, len(targets) :])
    np.testing.assert_allclose(scored[SCORE][0], sum(expected), atol=1e-5)


def test_bad_items_leave_their_neighbors_alone(tiny_service):
    captions = [CAPTIONS[0], CAPTIONS[3], CAPTIONS[3], CAPTIONS[2], ""]
    together = tiny_service.score(tf.constant(PICTURES), tf.constant(captions))
    too_long = b"a caption of 8 pieces, its end included (expected at most 7)"
    errors = together[ERROR].numpy().tolist()
    assert errors == [b"", too_long, UNKNOWN.encode(), b"", EMPTY.encode()]
    assert together[TOKEN_SCORES].shape == (5, LENGTH)
    assert not np.any(together[TOKEN_SCORES].numpy()[[1, 2, 4]])
    for row in (0, 3):
        alone = tiny_service.score(
            tf.constant(PICTURES[row : row + 1]), tf.constant(captions[row : row + 1])
        )
        np.testing.assert_allclose(alone[SCORE][0], together[SCORE][row], rtol=1e-5)
        assert together[SCORE][row] < 0


def test_the_longest_caption_fits_and_an_empty_one_is_its_end(tiny_service):
    captions = tf.constant(["a " * (LENGTH - 1), "", " \x00"])
    scored = tiny_service.score(tf.constant([picture(1)] * 3), captions)
    assert not np.any(scored[ERROR].numpy() != b"")
    assert np.count_nonzero(scored[TOKEN_SCORES], axis=1).tolist() == [LENGTH, 1, 1]


@pytest.mark.systems
def test_the_saved_model_scores_alike(tiny_service, tiny_export):
    saved = load(tiny_export)
    answers = saved.ask("score", image=PICTURES, caption=CAPTIONS, batch=2)
    expected = tiny_service.score(tf.constant(PICTURES), tf.constant(CAPTIONS))
    for row, answer in enumerate(answers):
        assert sorted(answer) == [ERROR, SCORE, TOKEN_SCORES]
        assert answer[ERROR] == expected[ERROR][row].numpy()
        np.testing.assert_allclose(answer[SCORE], expected[SCORE][row], atol=1e-5)
        np.testing.assert_allclose(answer[TOKEN_SCORES], expected[TOKEN_SCORES][row], atol=1e-5)


def test_as_many_captions_as_pictures(tiny_service, tiny_export):
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many captions as requests"):
        tiny_service.score(tf.constant(PICTURES[:1]), tf.constant(CAPTIONS))
    saved = load(tiny_export)
    with pytest.raises(ValueError, match="as many captions as requests"):
        saved.outputs("score", {"image": PICTURES[:1], "caption": CAPTIONS[:2]})
    with pytest.raises(ValueError, match=r"equal length.*'image': 2, 'caption': 3"):
        saved.ask("score", image=PICTURES[:2], caption=CAPTIONS[:3])
