"""Matrices of attention: names, sizes, and outlined windows of local and hard attentions."""

import numpy as np
import pytest

from keras_attn.viz.labels import folded, in_words
from keras_attn.viz.matrix import matrix_figure


def test_words_have_the_sums_and_the_means_of_their_pieces():
    random = np.random.default_rng(3)
    weights = random.dirichlet(np.ones(5), 4)
    source, target = ("▁a", "▁play", "ing", "</s>", "▁"), ("▁Sp", "iel", "▁<0xC3>", "</s>")
    (columns, looked_at), (rows, looking) = in_words(source), in_words(target)
    assert columns == ("a", "playing", "</s>", "") and rows[0] == "Spiel"
    words = folded(weights, looking, looked_at)
    expected = np.zeros((3, 4))
    for row, group in enumerate([(0, 1), (2,), (3,)]):
        for column, pieces in enumerate([(0,), (1, 2), (3,), (4,)]):
            for place in group:
                expected[row, column] += sum(weights[place, c] for c in pieces) / len(group)
    np.testing.assert_allclose(words, expected, rtol=1e-12)
    np.testing.assert_allclose(words.sum(axis=1), 1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_draw(shape):
    with pytest.raises(ValueError, match=f"{shape[0]} rows, {shape[1]} columns"):
        matrix_figure(np.zeros(shape), ["a"] * shape[0], ["b"] * shape[1])


@pytest.mark.parametrize(
    ("weights", "outlines"),
    [
        ([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], []),
        ([[0.0, 0.3, 0.5], [0.0, 1.0, 0.0]], [(0.5, -0.5, 2), (0.5, 0.5, 1)]),
        ([[0.0, 0.0, 0.0], [0.2, 0.3, 0.0]], [(-0.5, 0.5, 2)]),
    ],
)
def test_windows_are_outlined(weights, outlines):
    labels, titles = (("x", "y"), ("a", "b", "c")), ("answer", "source")
    axis = matrix_figure(np.array(weights), *labels, titles, outlined=True).axes[0]
    assert (axis.get_ylabel(), axis.get_xlabel()) == titles
    patches = axis.patches
    assert [(*patch.get_xy(), patch.get_width()) for patch in patches] == outlines
    assert not matrix_figure(np.array(weights), *labels, titles).axes[0].patches
