"""Sentence pairs as indices into a sparse table of the words beside each other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_attn.alignment.compiled import compiled
from keras_attn.alignment.encoded_sentences import EncodedSentences, starts_of
from keras_attn.alignment.vocabulary import NULL

CELLS = 1 << 15
"""Greatest number of cells (one source word beside one target word) of a batch of several pairs."""
_SHIFT = 32


class Batch(NamedTuple):
    """Sentence pairs in one direction.

    A pair of S source words and T target words has T · (1 + S) cells: one for each target word
    beside NULL and each source word, target word by target word. Those of all pairs follow each
    other.

    Attributes:
        rows: int64 (B,). Which pairs of the corpus.
        cells: int32 (C,). Entry of the lexical table of each cell.
        starts: int64 (B + 1,). First cell of each pair, and after the last.
        source_lengths: int64 (B,), words.
        target_lengths: int64 (B,), words.
    """

    rows: np.ndarray
    cells: np.ndarray
    starts: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray

    def lexical(self, values: np.ndarray, least: float = 0.0) -> np.ndarray:
        """Value of each cell, float (C,), at least this; from values of the entries, (E,)."""
        found = np.empty(len(self.cells))
        _look_up(self.cells, values, least, found)
        return found

    def add_counts(self, counts: np.ndarray, weights: np.ndarray) -> None:
        """Adds a weight for each cell, float (C,), to counts of the entries, (E,)."""
        _add_counts(self.cells, weights, counts)


def rows_of_batches(sources: EncodedSentences, targets: EncodedSentences) -> list[np.ndarray]:
    """Groups the pairs that have words on both sides.

    Args:
        sources, targets: `EncodedSentences`, as many.

    Returns:
        list of int64 (B,), rows of the corpus in order.
    """
    lengths = np.stack([sources.lengths, targets.lengths])
    rows = np.flatnonzero(lengths.min(axis=0) > 0)
    groups = np.cumsum(np.prod(1 + lengths[:, rows], axis=0)) // CELLS
    return np.split(rows, np.flatnonzero(np.diff(groups)) + 1) if len(rows) else []


def pair_keys(sources, targets):
    """Keys of words beside each other, source · 2³² + target, int64; shapes as in NumPy."""
    return (np.asarray(sources, "int64") << _SHIFT) | np.asarray(targets, "int64")


def words_of_keys(keys):
    """Numbers of the source words and of the target words of keys, each int64 (E,)."""
    return keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)


def make_batches(sources, targets, rows, known=None):
    """Batches of a corpus in one direction, and the keys of their lexical table.

    Args:
        sources, targets: `EncodedSentences`, as many.
        rows: list of int64 (B,), from `rows_of_batches`.
        known: int64 (E,), sorted keys of a trained table. Default: none.

    Returns:
        batches: list of `Batch`. Their entries point into `keys`.
        keys: int64, see `pair_keys`. Those of `known` first, then all others that occur, sorted.
    """
    known = np.zeros(0, "int64") if known is None else known
    if not rows:
        return [], known
    sources, targets = (side.chosen(np.concatenate(rows)) for side in (sources, targets))
    counts = np.stack([sources.lengths, targets.lengths])
    cell_starts = starts_of(counts[1] * (1 + counts[0]))
    cells = np.empty(cell_starts[-1], "int32")
    new = _numbered_cells(*sources.after(NULL), *targets, cell_starts, known, cells)
    batches, first = [], 0
    for group in rows:
        end = first + len(group)
        own = cell_starts[first : end + 1]
        batches.append(Batch(group, cells[own[0] : own[-1]], own - own[0], *counts[:, first:end]))
        first = end
    return batches, np.concatenate([known, new])


def each_pair(batch: Batch, values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of a batch, each with its values (T, 1 + S), of values of all cells (C,)."""
    shapes = zip(batch.target_lengths.tolist(), (1 + batch.source_lengths).tolist(), strict=True)
    parts = np.split(values, batch.starts[1:-1])
    for row, part, shape in zip(batch.rows.tolist(), parts, shapes, strict=True):
        yield row, part.reshape(shape)


@compiled
def _look_up(cells, values, least, found):
    for cell in range(len(cells)):
        found[cell] = max(values[cells[cell]], least)


@compiled
def _add_counts(cells, weights, counts):
    for cell in range(len(cells)):
        counts[cells[cell]] += weights[cell]


@compiled
def _numbered_cells(words, starts, others, other_starts, cell_starts, known, cells):
    """Sets the entries of all cells; returns the keys that are not known, int64, sorted.

    Args:
        words: int32, of the source, NULL before each sentence.
        starts: int64 (N + 1,). Of each sentence in `words`.
        others, other_starts: the same of the target, without NULL.
        cell_starts: int64 (N + 1,). Of each pair in `cells`.
        known: int64, sorted keys.
        cells: int32, the result.
    """
    begins, order, pair_of = _occurrences(words, starts)
    firsts, beside = _words_beside(words, starts, others, other_starts)
    last = others.max()
    for key in known:
        last = max(last, key & 0xFFFFFFFF)
    seen, entries = np.full(last + 1, -1, np.int32), np.empty(last + 1, np.int32)
    new, count, passed = np.empty(len(beside), np.int64), 0, 0
    for word in range(len(begins) - 1):
        while passed < len(known) and known[passed] >> 32 == word:
            other = known[passed] & 0xFFFFFFFF
            seen[other], entries[other] = word, passed
            passed += 1
        for other in beside[firsts[word] : firsts[word + 1]]:
            if seen[other] != word:
                entries[other] = len(known) + count
                new[count] = word << 32 | other
                count += 1
        for place in order[begins[word] : begins[word + 1]]:
            pair = pair_of[place]
            width = starts[pair + 1] - starts[pair]
            cell = cell_starts[pair] + place - starts[pair]
            for other in others[other_starts[pair] : other_starts[pair + 1]]:
                cells[cell] = entries[other]
                cell += width
    return new[:count].copy()


@compiled
def _words_beside(words, starts, others, other_starts):
    """For each word where its partners begin, int64, and the partners, int32, sorted by word.

    The partners of each other word are found first; put in the rows of their words in that order,
    they are sorted.
    """
    begins, order, pair_of = _occurrences(others, other_starts)
    seen, ends = np.full(words.max() + 1, -1, np.int32), np.zeros(len(begins), np.int64)
    firsts = np.zeros(len(seen) + 1, np.int64)
    found, count = np.empty(1024, np.int32), 0
    for other in range(len(begins) - 1):
        for place in order[begins[other] : begins[other + 1]]:
            pair = pair_of[place]
            for word in words[starts[pair] : starts[pair + 1]]:
                if seen[word] != other:
                    if count == len(found):
                        found = np.append(found, np.empty(len(found), np.int32))
                    seen[word], found[count] = other, word
                    firsts[word + 1] += 1
                    count += 1
        ends[other + 1] = count
    firsts = np.cumsum(firsts)
    filled, beside = firsts.copy(), np.empty(count, np.int32)
    for other in range(len(begins) - 1):
        for word in found[ends[other] : ends[other + 1]]:
            beside[filled[word]] = other
            filled[word] += 1
    return firsts, beside


@compiled
def _occurrences(words, starts):
    """Places of words ordered by word: where those of each begin, the places, and their pairs."""
    begins = np.zeros(words.max() + 2, np.int64)
    for word in words:
        begins[word + 1] += 1
    begins = np.cumsum(begins)
    filled, order = begins.copy(), np.empty(len(words), np.int64)
    pair_of = np.empty(len(words), np.int64)
    for pair in range(len(starts) - 1):
        for place in range(starts[pair], starts[pair + 1]):
            pair_of[place] = pair
            order[filled[words[place]]] = place
            filled[words[place]] += 1
    return begins, order, pair_of
