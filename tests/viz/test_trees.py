"""Where constituents begin and end, and pictures of trees of every size."""

import numpy as np
import pytest

from keras_attn.viz.trees import Constituent, constituents_of, tree_figure


def drawn(symbols, words):
    symbols = symbols.split()
    weights = np.full((len(symbols), len(words) + 1), 1 / (len(words) + 1))
    return tree_figure(words, ("NN",) * len(words), symbols, weights)


def test_constituents():
    constituents = constituents_of(["(S", "(NP", "XX", "XX", ")NP", "(VP", "XX", ")VP", ")S"])
    assert constituents == [
        Constituent("S", 0, 8, 0, 3, -1),
        Constituent("NP", 1, 4, 0, 2, 0),
        Constituent("VP", 5, 7, 2, 3, 0),
    ]


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        ("XX", ["cell"]),
        ("(S (NP XX )NP XX )S", ["a" * 5000, "$☂"]),
        (f"(S{'L' * 900} XX XX )S{'L' * 900}", ["a", "b"]),
    ],
)
def test_figures(symbols, words):
    figure = drawn(symbols, words)
    figure.canvas.draw()
    assert len(figure.axes) == 3


def test_too_many_words():
    with pytest.raises(ValueError, match=r"at most 200 words for a picture. Received: 201"):
        drawn("(S " + "XX " * 201 + ")S", ["a"] * 201)


def test_brackets_that_are_not_balanced():
    with pytest.raises(ValueError, match=r"Expected balanced brackets. Received: XX \)S"):
        constituents_of(["XX", ")S"])
