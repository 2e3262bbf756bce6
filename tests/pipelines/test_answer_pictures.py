"""Pictures of answers: one for each request that can be read and drawn, none without."""

import types

import keras
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from keras_attn.serving import FunctionService
from keras_attn.viz.declared import Matrix, Note, Strings
from keras_attn.viz.views import TokenView
from keras_attn_pipelines.experiment.answer_pictures import SIZE, answer_pictures
from tests.pipelines.logged_pictures import pictures_of

VIEWS = [Note("error", "unused"), Matrix("weights", Strings("words"), name="Weights")]


def service(views):
    """A service of words, which share their text evenly."""

    def explain(source):
        words = tf.strings.split(source).to_tensor("")
        count = tf.cast(tf.maximum(tf.shape(words)[1], 1), tf.float32)
        errors = tf.where(source == "", "an empty text", "")
        weights = tf.fill(tf.shape(words), 1 / count)
        return {"text": source[:, None], "error": errors, "words": words, "weights": weights}

    return FunctionService(keras.Sequential(), {}, explain, ["text"], views)


@pytest.mark.parametrize(("texts", "count"), [(["a", "", "b c"], 2), (["", ""], 0)])
def test_requests_that_cannot_be_read_have_no_picture(texts, count, tmp_path):
    requests = [{"source": text.encode()} for text in texts]
    (callback,) = answer_pictures(service(VIEWS), requests, tmp_path)
    callback.on_epoch_end(0)
    pictures = pictures_of(types.SimpleNamespace(folder=tmp_path))
    assert [picture.shape for picture in pictures] == [(*SIZE, 3)] * count


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        (Matrix("weight", Strings("words")), "KeyError('weight')"),
        (Matrix("words", Strings("words")), "Expected numbers of 1 axes as words"),
    ],
)
def test_what_cannot_be_drawn_ends_the_pictures_and_not_the_training(
    view, reason, tmp_path, capsys
):
    (callback,) = answer_pictures(service([view]), [{"source": "a b"}], tmp_path)
    for epoch in range(3):
        callback.on_epoch_end(epoch)
    printed = capsys.readouterr().out
    assert printed.count("no more pictures of answers") == 1 and reason in printed
    assert pictures_of(types.SimpleNamespace(folder=tmp_path)) == []


def test_a_picture_is_headed_by_its_answer(tmp_path, monkeypatch):
    headings = []
    monkeypatch.setattr(TokenView, "figure", lambda view, title: headings.append(title) or Figure())
    (callback,) = answer_pictures(service(VIEWS), [{"source": b"two words"}], tmp_path)
    callback.on_epoch_end(0)
    assert headings == ["two words"]


def test_without_views_or_requests_there_is_no_callback(tmp_path):
    assert answer_pictures(service([]), [{"source": b"a"}], tmp_path) == []
    assert answer_pictures(service(VIEWS[:1]), [{"source": b"a"}], tmp_path) == []
    assert answer_pictures(service(VIEWS), [], tmp_path) == []
