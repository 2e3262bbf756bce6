"""Where constituents begin and end, and pictures of trees of every size."""

import numpy as np
import pytest

from keras_attn.viz.parsed_tree import Constituent, ParsedTree, parsed_tree_figure


def tree(symbols, words):
    symbols = symbols.split()
    weights = np.full((len(symbols), len(words) + 1), 1 / (len(words) + 1))
    return ParsedTree("", tuple(words), ("NN",) * len(words), tuple(symbols), weights)


def test_constituents():
    constituents = tree("(S (NP XX XX )NP (VP XX )VP )S", "abc").constituents()
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
    figure = parsed_tree_figure(tree(symbols, words))
    figure.canvas.draw()
    assert len(figure.axes) == 3


def test_too_many_words():
    with pytest.raises(ValueError, match=r"at most 200 words for a picture. Received: 201"):
        parsed_tree_figure(tree("(S " + "XX " * 201 + ")S", ["a"] * 201))
