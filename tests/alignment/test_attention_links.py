"""Links by attention: each rule, both directions, ends, and pieces folded into words."""

import numpy as np
import pytest

from keras_attn.alignment import attention_links
from keras_attn.saved.attended_pair import AttendedPair

FORWARD = np.array(
    [
        [0.1, 0.6, 0.2, 0.1],
        [0.1, 0.5, 0.3, 0.1],
        [0.2, 0.1, 0.1, 0.6],
        [0.3, 0.1, 0.2, 0.4],
        [0.7, 0.1, 0.1, 0.1],
    ]
)
"""Four target words and the end, to three source words and the end."""


def links(**choices):
    found = attention_links(FORWARD, **choices)
    assert found.shape == (3, 4)
    return sorted((source, target) for source, target in np.argwhere(found).tolist())


def test_each_kind_of_link():
    # Source word 1 has two target words; target words 2 and 3 look at the end and have none.
    assert links() == [(1, 0), (1, 1)]
    # Source word 0 is looked at most by the end.
    assert links(symmetrization="backward") == [(1, 0), (2, 1)]
    assert links(symmetrization="intersection") == [(1, 0)]
    assert links(symmetrization="union") == [(1, 0), (1, 1), (2, 1)]


def test_words_without_weight_have_no_link():
    """As of a local or hard attention, which gives most words a weight of exactly 0."""
    weights = np.zeros((3, 4))
    weights[0, 1] = weights[1, 1] = weights[2, 3] = 1
    for symmetrization in ("backward", "intersection", "grow-diag-final-and", "union"):
        found = np.argwhere(attention_links(weights, symmetrization=symmetrization)).tolist()
        assert found and all(source == 1 for source, _ in found)
    assert not attention_links(np.full((3, 4), np.nan)).any()


def test_another_translator_for_the_other_direction():
    backward = np.zeros((4, 5))
    backward[[0, 1, 2, 3], [3, 0, 4, 4]] = 1
    chosen = links(backward=backward, symmetrization="grow-diag-final-and")
    assert chosen == [(0, 3), (1, 0), (1, 1)]
    with pytest.raises(ValueError, match=r"Received: \(5, 4\) and \(5, 4\)"):
        attention_links(FORWARD, FORWARD)
    with pytest.raises(ValueError, match="Received: none"):
        attention_links(FORWARD, symmetrization="none")


def answer(weights):
    pieces = {"source_pieces": [b"\xe2\x96\x81a", b"b", b"\xe2\x96\x81c", b"</s>", b""]}
    pieces["pieces"] = [b"\xe2\x96\x81x", b"\xe2\x96\x81y", b"z", b"</s>", b"", b""]
    return {**pieces, "cross_weights": weights}


def test_pieces_are_folded_at_the_step_that_predicts_and_the_one_that_reads():
    weights = np.zeros((2, 3, 6, 5), "float32")
    weights[1, 2, :4, :4] = [
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.1, 0.4, 0.0],
        [0.2, 0.2, 0.1, 0.5],
        [0.0, 0.1, 0.2, 0.7],
    ]
    pair = AttendedPair.of(answer(weights), "ab  c", "x yz ")
    assert (pair.source, pair.target) == (("ab", "c"), ("x", "yz"))
    expected = [[0.3, 0.3, 0.4], [0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]
    np.testing.assert_allclose(pair.matrix(2, 3), expected, atol=1e-6)
    expected = [[0.6, 0.4, 0.0], [0.25, 0.15, 0.6], [0.3, 0.3, 0.4]]
    np.testing.assert_allclose(pair.matrix(2, 3, reading=True), expected, atol=1e-6)
    np.testing.assert_allclose(pair.matrix(), pair.matrix(2, 3) / 6, atol=1e-6)
    assert not pair.matrix(1).any()
    assert pair.links(2, 3) == [(0, 1)]
    for choice, message in (((3, 1), "layer of 1 to 2"), ((1, 0), "head of 1 to 3")):
        with pytest.raises(ValueError, match=message):
            pair.matrix(*choice)


@pytest.mark.parametrize(
    ("source", "target"), [("a b c", "x yz"), ("ab c", "xyz"), ("", "x yz"), ("ab c", "")]
)
def test_words_that_the_tokenizer_joins_or_separates(source, target):
    with pytest.raises(ValueError, match=r"Expected \d words\. Received: 2 in the tokenizer"):
        AttendedPair.of(answer(np.zeros((1, 1, 6, 5))), source, target)
