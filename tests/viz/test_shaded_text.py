"""Texts shaded by weight: words of pieces, lines, colors."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from keras_attn.viz.shaded_text import MARGIN, WIDTH, shaded_text_figure


def drawn(words, weights):
    return shaded_text_figure(tuple(words), np.asarray(weights), "good, 97.0 %")


@pytest.mark.parametrize(
    ("words", "lines"),
    [(["one"], 1), (["fifteen letters"] * 30, 6), (["x" * 5000, "$1 ☂", "\\frac", "漢"], 1)],
)
def test_lines_stay_inside_the_figure(words, lines):
    figure = drawn(words, np.full(len(words), 1 / len(words)))
    figure.canvas.draw()
    boxes = [artist for artist in figure.artists if isinstance(artist, Rectangle)]
    texts = figure.texts[: len(words)]
    assert len(boxes) == len(words)
    assert len({round(box.get_y(), 4) for box in boxes}) == lines
    renderer = figure.canvas.get_renderer()
    for box, text in zip(boxes, texts):
        assert box.get_x() >= MARGIN / WIDTH and box.get_x() + box.get_width() < 1
        outer, inner = box.get_window_extent(renderer), text.get_window_extent(renderer)
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1


def test_dark_shades_have_white_letters():
    figure = drawn(["a", "b"], [0.9, 0.1])
    assert [text.get_color() for text in figure.texts[:2]] == ["white", "black"]
    colors = [artist.get_facecolor()[:3] for artist in figure.artists]
    assert sum(colors[0]) < sum(colors[1])
    assert drawn(["a"], [0.0]).texts[0].get_color() == "black"
