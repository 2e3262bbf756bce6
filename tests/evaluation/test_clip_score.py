"""CLIPScore and RefCLIPScore, beside loops over their formulas."""

import math

import numpy as np
import pytest

from keras_attn.evaluation import clip_score, ref_clip_score

RANDOM = np.random.default_rng(5)
IMAGES, CAPTIONS = RANDOM.normal(size=(2, 7, 5))
REFERENCES = [RANDOM.normal(size=(count, 5)) for count in (1, 2, 3, 5, 1, 2, 3)]


def cosine(first, other):
    dot = sum(a * b for a, b in zip(first, other))
    return dot / math.sqrt(sum(a * a for a in first) * sum(b * b for b in other))


def slow_scores():
    """Scores of each example, by the definitions."""
    pairs = []
    for image, caption, references in zip(IMAGES, CAPTIONS, REFERENCES):
        score = 2.5 * max(cosine(image, caption), 0)
        best = max(max(cosine(caption, reference) for reference in references), 0)
        mean = 2 / (1 / score + 1 / best) if score and best else 0.0
        pairs.append((score, mean))
    return np.array(pairs).T


def test_scores_equal_their_formulas():
    expected, means = slow_scores()
    assert (expected > 0).any() and (means == 0).any() and (means > 0).any()
    scores = clip_score(IMAGES, CAPTIONS)
    np.testing.assert_allclose(scores, expected)
    np.testing.assert_allclose(ref_clip_score(scores, CAPTIONS, REFERENCES), means)
    np.testing.assert_allclose(clip_score(3 * IMAGES, CAPTIONS), expected)


def test_a_picture_that_was_not_read_scores_0():
    scores = clip_score(0 * IMAGES, CAPTIONS)
    assert not scores.any() and not ref_clip_score(scores, CAPTIONS, REFERENCES).any()


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"equal shape \(N, P\).*\(7, 5\) and \(6, 5\)"):
        clip_score(IMAGES, CAPTIONS[1:])
    for references in (REFERENCES[1:], [*REFERENCES[1:], []]):
        with pytest.raises(ValueError, match="Expected references for each of 7 captions"):
            ref_clip_score(np.ones(7), CAPTIONS, references)
    with pytest.raises(ValueError, match=r"a score for each of 7 captions.*shape \(1,\)"):
        ref_clip_score(np.ones(1), CAPTIONS, REFERENCES)
