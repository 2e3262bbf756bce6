"""Pictures of answers: one for each input that can be read, none without."""

import types

import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR
from keras_attn.viz.alignment import matrix_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures
from tests.pipelines.logged_pictures import pictures_of


@pytest.mark.parametrize(("texts", "count"), [(["a", "", "bc"], 2), (["", ""], 0)])
def test_inputs_that_cannot_be_read_have_no_picture(texts, count, tmp_path):
    def explain(sources):
        errors = tf.where(sources == "", "an empty text", "")
        return {ERROR: errors, "weights": tf.ones((len(texts), 2, 3)) / 3}

    def figure(answer, row):
        assert texts[row]
        return matrix_figure(answer["weights"], ["x", "y"], ["a", "b", "c"])

    callback = answer_pictures(explain, [texts], figure, tmp_path, (120, 90))
    callback.on_epoch_end(0)
    pictures = pictures_of(types.SimpleNamespace(folder=tmp_path))
    assert [picture.shape for picture in pictures] == [(120, 90, 3)] * count
