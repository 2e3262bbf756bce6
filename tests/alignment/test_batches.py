"""Tables of the words beside each other, and the batches that point into them."""

import numpy as np
import pytest

from keras_attn.alignment import batches as module
from keras_attn.alignment.batches import each_pair, make_batches, pair_keys, rows_of_batches
from keras_attn.alignment.encoded_sentences import EncodedSentences

SENTENCES = 31


def corpus(random, words):
    lengths = random.integers(0, 7, SENTENCES)
    return EncodedSentences.of(random.integers(1, words, lengths.sum()).astype("int32"), lengths)


def words_of(sentences):
    return np.split(sentences.words, sentences.starts[1:-1])


@pytest.mark.parametrize("words", [3, 1000])
def test_cells_point_to_the_keys_of_their_words(monkeypatch, words):
    monkeypatch.setattr(module, "CELLS", 97)
    random = np.random.default_rng(5)
    sides = corpus(random, words), corpus(random, words)
    batches, keys = make_batches(*sides, rows_of_batches(*sides))
    assert len(batches) > 2 and np.all(np.diff(keys) > 0)
    seen = {}
    for batch in batches:
        for row, entries in each_pair(batch, batch.cells):
            seen[row] = keys[entries]
    pairs = list(zip(*map(words_of, sides)))
    assert list(seen) == [row for row, pair in enumerate(pairs) if all(map(len, pair))]
    for row, found in seen.items():
        source, target = pairs[row]
        np.testing.assert_array_equal(found, pair_keys(np.append(0, source), target[:, None]))


def test_more_pairs_of_words_than_entries_can_number(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 5)
    sides = (
        EncodedSentences.of(np.array([1, 2], "int32"), [2]),
        EncodedSentences.of(np.array([3, 4], "int32"), [2]),
    )
    with pytest.raises(ValueError, match=r"at most 5 pairs of words .* Received: 6"):
        make_batches(*sides, rows_of_batches(*sides))


def test_known_keys_keep_their_places():
    random = np.random.default_rng(7)
    sides = corpus(random, 11), corpus(random, 13)
    _, known = make_batches(*sides, rows_of_batches(*sides))
    others = corpus(random, 17), corpus(random, 19)
    batches, keys = make_batches(*others, rows_of_batches(*others), known)
    np.testing.assert_array_equal(keys[: len(known)], known)
    assert np.all(np.diff(keys[len(known) :]) > 0) and len(np.unique(keys)) == len(keys)
    for batch in batches:
        for row, entries in each_pair(batch, batch.cells):
            source, target = (words_of(side)[row] for side in others)
            wanted = pair_keys(np.append(0, source), target[:, None])
            np.testing.assert_array_equal(keys[entries], wanted)
