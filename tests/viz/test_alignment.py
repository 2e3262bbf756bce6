"""Alignment matrices: the windows of local and hard attentions are outlined."""

import numpy as np
import pytest

from keras_attn.viz.alignment import Alignment, alignment_figure


def test_words_have_the_sums_and_the_means_of_their_pieces():
    random = np.random.default_rng(3)
    weights = random.dirichlet(np.ones(5), 4)
    source, target = ("▁a", "▁play", "ing", "</s>", "▁"), ("▁Sp", "iel", "▁<0xC3>", "</s>")
    words = Alignment("Spiel", source, target, weights).in_words()
    assert words.source == ("a", "playing", "</s>", "") and words.target[0] == "Spiel"
    expected = np.zeros((3, 4))
    for row, rows in enumerate([(0, 1), (2,), (3,)]):
        for column, columns in enumerate([(0,), (1, 2), (3,), (4,)]):
            for place in rows:
                expected[row, column] += sum(weights[place, c] for c in columns) / len(rows)
    np.testing.assert_allclose(words.weights, expected, rtol=1e-12)
    np.testing.assert_allclose(words.weights.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("weights", "outlines"),
    [
        ([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], []),
        ([[0.0, 0.3, 0.5], [0.0, 1.0, 0.0]], [(0.5, -0.5, 2), (0.5, 0.5, 1)]),
        ([[0.0, 0.0, 0.0], [0.2, 0.3, 0.0]], [(-0.5, 0.5, 2)]),
    ],
)
def test_windows_are_outlined(weights, outlines):
    alignment = Alignment("x y", ("a", "b", "c"), ("x", "y"), np.array(weights))
    patches = alignment_figure(alignment).axes[0].patches
    assert [(*patch.get_xy(), patch.get_width()) for patch in patches] == outlines
