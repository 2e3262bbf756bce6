"""Tables of the words beside each other, and the batches that point into them."""

import numpy as np
import pytest

from keras_attn.alignment import batches as module
from keras_attn.alignment.batches import each_pair, make_batches, pair_keys, rows_of_batches

SENTENCES = 31


def corpus(random, words):
    return [random.integers(1, words, random.integers(0, 7)) for _ in range(SENTENCES)]


@pytest.mark.parametrize("dense", [0, module.DENSE])
@pytest.mark.parametrize("words", [3, 1000])
def test_cells_point_to_the_keys_of_their_words(monkeypatch, dense, words):
    monkeypatch.setattr(module, "DENSE", dense)
    monkeypatch.setattr(module, "CELLS", 97)
    random = np.random.default_rng(5)
    sides = corpus(random, words), corpus(random, words)
    batches, keys = make_batches(*sides, rows_of_batches(*sides))
    assert len(batches) > 2 and np.all(np.diff(keys) > 0)
    seen = {}
    for batch in batches:
        for row, entries in each_pair(batch, batch.entries[batch.cells]):
            seen[row] = keys[entries]
    assert sorted(seen) == [row for row, pair in enumerate(zip(*sides)) if all(map(len, pair))]
    for row, found in seen.items():
        source, target = (side[row] for side in sides)
        np.testing.assert_array_equal(found, pair_keys(np.append(0, source), target[:, None]))


def test_known_keys_keep_their_places():
    random = np.random.default_rng(7)
    sides = corpus(random, 11), corpus(random, 13)
    _, known = make_batches(*sides, rows_of_batches(*sides))
    others = corpus(random, 17), corpus(random, 19)
    batches, keys = make_batches(*others, rows_of_batches(*others), known)
    np.testing.assert_array_equal(keys[: len(known)], known)
    assert np.all(np.diff(keys[len(known) :]) > 0) and len(np.unique(keys)) == len(keys)
    for batch in batches:
        for row, entries in each_pair(batch, batch.entries[batch.cells]):
            source, target = (side[row] for side in others)
            wanted = pair_keys(np.append(0, source), target[:, None])
            np.testing.assert_array_equal(keys[entries], wanted)


def test_padding_points_behind_the_table():
    sides = [np.array([1, 2]), np.array([3])], [np.array([4]), np.array([5, 6])]
    batches, keys = make_batches(*sides, rows_of_batches(*sides))
    for batch in batches:
        entries = batch.entries[batch.cells]
        inside = np.zeros(entries.shape, bool)
        for place in range(len(batch.rows)):
            inside[place, : batch.target_lengths[place], : 1 + batch.source_lengths[place]] = True
        assert np.all((entries == len(keys)) == ~inside)
