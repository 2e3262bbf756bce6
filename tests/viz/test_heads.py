"""Pictures of heads: what is drawn follows the weights."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from keras_attn.viz.heads import heads_figure, words_figure


def weights(*shape):
    shares = np.random.default_rng(3).random(shape)
    return shares / shares.sum(axis=-1, keepdims=True)


def test_a_matrix_for_each_layer_and_head():
    given = weights(2, 3, 5, 7)
    figure = heads_figure(given, ["a", "$", "▁c", "d", "e"], list("stuvwxy"), "title")
    assert len(figure.axes) == 6
    for axis, matrix in zip(figure.axes, given.reshape(6, 5, 7)):
        np.testing.assert_allclose(axis.images[0].get_array(), matrix, rtol=1e-6)
    left, below = figure.axes[3], figure.axes[5]
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", r"\$", "▁c", "d", "e"]
    assert [label.get_text() for label in below.get_xticklabels()] == list("stuvwxy")
    assert not below.get_yticklabels() and not figure.axes[0].get_xticklabels()
    assert (left.get_ylabel(), figure.axes[2].get_title()) == ("layer 2", "head 3")


def test_long_sentences_have_no_labels():
    figure = heads_figure(weights(1, 1, 29, 5), ["w"] * 29, ["x"] * 5)
    assert not figure.axes[0].get_xticklabels() and not figure.axes[0].get_yticklabels()


@pytest.mark.parametrize("form", ["png", "svg"])
def test_files(form):
    for figure in (
        heads_figure(weights(1, 2, 3, 5), list("abc"), ["Ж", "木", "🦜", "", "e"]),
        words_figure(weights(2, 5, 5), ["Ж", "木", "🦜", "", "e"], [2]),
    ):
        data = io.BytesIO()
        figure.savefig(data, format=form)
        assert data.getvalue().startswith(b"\x89PNG" if form == "png" else b"<?xml")


def test_lines_are_as_opaque_as_their_weights():
    given = np.zeros((2, 3, 3))
    given[0, 1] = [0.75, 0.25, 0.0]
    given[1, 1] = [0.0, 0.02, 0.98]
    figure = words_figure(given, ["it", "makes", "sense"], [1])
    (axis,) = figure.axes
    lines = {(line.get_color()[0], *line.get_xdata()): line.get_alpha() for line in axis.lines}
    blue, orange = to_rgba("tab:blue")[0], to_rgba("tab:orange")[0]
    expected = {(blue, 1, 0): 0.75, (blue, 1, 1): 0.25, (orange, 1, 2): 0.98}
    assert lines == pytest.approx(expected)
    words = [text.get_text() for text in axis.texts]
    assert words == ["it", "it", "makes", "makes", "sense", "sense"]


@pytest.mark.parametrize(
    ("shape", "rows", "message"),
    [
        ((2, 3, 5, 7), 7, r"4 axes for 7 queries and 7 keys.*\(2, 3, 5, 7\)"),
        ((3, 5, 7), 5, r"4 axes.*\(3, 5, 7\)"),
        ((0, 3, 5, 7), 5, r"\(0, 3, 5, 7\)"),
    ],
)
def test_weights_that_do_not_fit(shape, rows, message):
    with pytest.raises(ValueError, match=message):
        heads_figure(np.zeros(shape), ["q"] * rows, ["k"] * 7)


@pytest.mark.parametrize("looking", [[], [3], [-1]])
def test_places_that_are_none(looking):
    with pytest.raises(ValueError, match=r"Expected places in 0..2. Received: \["):
        words_figure(weights(1, 3, 3), list("abc"), looking)
