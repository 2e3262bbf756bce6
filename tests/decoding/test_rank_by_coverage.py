"""Hypotheses that have most of the wanted tokens come first."""

import numpy as np
import pytest

from keras_attn.contracts import END_ID, PAD_ID, DecodeResult
from keras_attn.decoding import rank_by_coverage

BATCH, WIDTH, LENGTH, SOURCE, VOCABULARY = 3, 7, 5, 2, 11


def hypotheses(random) -> DecodeResult:
    """Random ones by score; one of each example was cut off, and one is missing."""
    tokens = random.integers(END_ID + 1, VOCABULARY, (BATCH, WIDTH, LENGTH))
    lengths = random.integers(1, LENGTH + 1, (BATCH, WIDTH))
    for row, length in np.ndindex(BATCH, WIDTH):
        tokens[row, length, lengths[row, length] - 1 :] = PAD_ID
        tokens[row, length, lengths[row, length] - 1] = END_ID
    tokens[:, 2] = np.where(tokens[:, 2] == END_ID, END_ID + 1, tokens[:, 2])
    tokens[:, -1], lengths[:, -1] = PAD_ID, 0
    scores = -np.sort(random.random((BATCH, WIDTH)), axis=1)
    weights = random.random((BATCH, WIDTH, LENGTH, SOURCE))
    return DecodeResult(tokens, lengths, scores, random.random(tokens.shape), weights)


@pytest.mark.parametrize("n_best", [1, 3, WIDTH])
def test_it_equals_sorting(n_best):
    random = np.random.default_rng(3)
    result = hypotheses(random)
    wanted = np.stack([random.permutation(np.arange(END_ID + 1, VOCABULARY))[:4] for _ in range(3)])
    wanted[0, 1:3] = PAD_ID
    found = rank_by_coverage(result, wanted, n_best)
    for row in range(BATCH):
        own = [{*tokens} for tokens in result.tokens[row].tolist()]
        asked = {*wanted[row].tolist()} - {PAD_ID}
        order = sorted(range(WIDTH), key=lambda k: (END_ID not in own[k], -len(own[k] & asked), k))
        if n_best == 1:
            assert END_ID in own[order[0]]
        for values, expected in zip(found, result, strict=True):
            kept = np.array([k for k in order if END_ID in own[k]][:n_best])
            np.testing.assert_allclose(np.asarray(values)[row][: len(kept)], expected[row][kept])
    assert found.tokens.shape == (BATCH, n_best, LENGTH)


def test_nothing_wanted_changes_nothing_but_the_number():
    result = hypotheses(np.random.default_rng(5))._replace(weights=None)
    ends = (result.tokens == END_ID).any(axis=-1)
    found = rank_by_coverage(result, np.full((BATCH, 2), PAD_ID), 2)
    assert found.weights is None
    for row in range(BATCH):
        np.testing.assert_allclose(found.scores[row], result.scores[row][ends[row]][:2])


def test_bad_arguments():
    result = hypotheses(np.random.default_rng(5))
    with pytest.raises(ValueError, match=r"Expected wanted of shape \(B, W\)"):
        rank_by_coverage(result, np.full(2, PAD_ID), 1)
    for n_best in (0, WIDTH + 1):
        with pytest.raises(ValueError, match=rf"n_best from 1 to 7\. Received: n_best={n_best}"):
            rank_by_coverage(result, np.full((BATCH, 2), PAD_ID), n_best)
