"""Counts of words that are spelled alike, and links from both directions, equal slow ones."""

import unicodedata

import numpy as np
import pytest

from keras_attn.alignment import Aligner, AlignerOptions
from keras_attn.alignment.batches import (
    each_pair,
    make_batches,
    pair_keys,
    rows_of_batches,
    words_of_keys,
)
from keras_attn.alignment.joint_links import joint_links
from keras_attn.alignment.spelling import Spelling
from keras_attn.alignment.vocabulary import NULL, Vocabulary

SOURCES = ["Parliament in Brussels", "a", "the European crisis", "on 1 January $ ^"]
TARGETS = ["parlament i Bryssel", "á b", "den europeiska krisen", "1 januari $$$ $"]


def dice(first, second):
    """The similarity of two words, pair of letters by pair."""

    def pairs(word):
        plain = [c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c)]
        letters = ["begin", *plain, "end"]
        return {(letters[at], letters[at + 1]) for at in range(len(letters) - 1)}

    own, other = pairs(first), pairs(second)
    return 2 * len(own & other) / (len(own) + len(other))


def encoded():
    sides = [[text.split() for text in side] for side in (SOURCES, TARGETS)]
    vocabularies = [Vocabulary.of(side) for side in sides]
    return vocabularies, [v.encode(side) for v, side in zip(vocabularies, sides, strict=True)]


def test_words_of_like_spelling_get_counts():
    (sources, targets), _ = encoded()
    words = np.arange(1 + len(sources.words)), np.arange(1, 1 + len(targets.words))
    keys = pair_keys(*(side.ravel() for side in np.meshgrid(*words, indexing="ij")))
    counts = np.random.default_rng(3).random(len(keys))
    added = Spelling(keys, sources, targets, 3.0).smoothed(counts) - counts
    alike = 0
    for source, target, own in zip(*words_of_keys(keys), added, strict=True):
        wanted = 0.0
        if source != NULL:
            wanted = dice(sources.words[source - 1], targets.words[target - 1])
        np.testing.assert_allclose(own, 3 * wanted if wanted >= 0.5 else 0.0, atol=1e-6)
        alike += own > 0
    assert 5 <= alike < len(keys) / 5


def test_spelling_aligns_words_that_occur_once():
    pairs = [["Oslo", "Kiel", "Rom"]], [["Rom", "Oslo", "Kiel"]]
    expected = [[(0, 1), (1, 2), (2, 0)]]
    assert Aligner.train(*pairs).align(*pairs) == expected
    without = AlignerOptions(spelling_weight=0)
    assert Aligner.train(*pairs, without).align(*pairs) != expected


@pytest.mark.parametrize("seed", range(3))
def test_links_of_both_directions_equal_slow_ones(seed):
    _, sides = encoded()
    rows = rows_of_batches(*sides)
    (batch,), _ = make_batches(*sides, rows)
    (swapped,), _ = make_batches(*sides[::-1], rows)
    random = np.random.default_rng(seed)

    def posteriors(of):
        widths = 1 + of.source_lengths
        rows = zip(widths, of.target_lengths, strict=True)
        parts = [random.dirichlet(np.full(width, 0.3), count) for width, count in rows]
        return np.concatenate([part.ravel() for part in parts])

    forward, backward = posteriors(batch), posteriors(swapped)
    found = joint_links(batch, forward, backward)
    values = zip(each_pair(batch, forward), each_pair(swapped, backward), strict=True)
    links = zip(each_pair(batch, found[0]), each_pair(swapped, found[1]), strict=True)
    for ((_, given), (_, other)), ((_, first), (_, second)) in zip(values, links, strict=True):
        assert not first[:, 0].any() and not second[:, 0].any()
        joint = np.sqrt(given[:, 1:] * other[:, 1:].T)
        expected = joint > 0.4, joint.T > 0.4
        for likely, null, wanted in zip((joint, joint.T), (given, other), expected, strict=True):
            for word, row in enumerate(likely):
                if row.max() > null[word, 0] / 2:
                    wanted[word, row.argmax()] = True
        np.testing.assert_array_equal(first[:, 1:], expected[0])
        np.testing.assert_array_equal(second[:, 1:], expected[1])
