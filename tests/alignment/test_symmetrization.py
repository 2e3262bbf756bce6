"""Symmetrization beside a twin of sets, and what contains what."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keras_attn.alignment import SYMMETRIZATIONS, symmetrize
from tests.reference import alignment as twin


@st.composite
def directions(draw):
    shape = draw(st.tuples(st.integers(0, 7), st.integers(0, 5)))
    return draw(arrays(bool, shape)), draw(arrays(bool, shape))


def links(matrix):
    return set(map(tuple, np.argwhere(matrix).tolist()))


@settings(max_examples=60, deadline=None)
@given(directions())
def test_the_same_as_the_twin(pair):
    sets = [links(matrix) for matrix in pair]
    grown = twin.grow_diag(*sets)
    wanted = {
        "intersection": sets[0] & sets[1],
        "union": sets[0] | sets[1],
        "grow-diag": grown,
        "grow-diag-final": twin.final(grown, sets, both=False),
        "grow-diag-final-and": twin.final(grown, sets, both=True),
        "forward": sets[0],
        "backward": sets[1],
    }
    assert {name: links(symmetrize(*pair, name)) for name in SYMMETRIZATIONS} == wanted


@settings(max_examples=60, deadline=None)
@given(directions())
def test_from_intersection_to_union(pair):
    before = [matrix.copy() for matrix in pair]
    found = {name: symmetrize(*pair, name) for name in SYMMETRIZATIONS}
    for final in ("grow-diag-final", "grow-diag-final-and"):
        chain = [found[name] for name in ("intersection", "grow-diag", final, "union")]
        assert all(np.all(inner <= outer) for inner, outer in itertools.pairwise(chain))
    linked, either = found["grow-diag-final"], found["union"]
    for axis in (0, 1):
        assert np.array_equal(linked.any(axis), either.any(axis))
    np.testing.assert_array_equal(before, pair)


def test_bad_directions():
    with pytest.raises(ValueError, match=r"Received: \(2, 3\) and \(3, 2\)"):
        symmetrize(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="Received: grow"):
        symmetrize(np.zeros((2, 3)), np.zeros((2, 3)), "grow")
