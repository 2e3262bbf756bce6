"""Sentence pairs as indices into a sparse table of the words beside each other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_attn.alignment.compiled import compiled
from keras_attn.alignment.encoded_sentences import EncodedSentences, starts_of
from keras_attn.alignment.vocabulary import NULL

CELLS = 1 << 15
"""About how many cells, one source word beside one target word, a batch of several pairs has."""
MOST_ENTRIES = 2**31 - 1
"""Greatest number of entries of a lexical table."""
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

    def lexical(self, values: np.ndarray, least: float) -> np.ndarray:
        """Value of each cell, float (C,), at least this; from values of the entries, (E,)."""
        probabilities = np.empty(len(self.cells))
        _look_up(self.cells, values, least, probabilities)
        return probabilities

    def add_counts(self, counts: np.ndarray, weights: np.ndarray) -> None:
        """Adds a weight for each cell, float (C,), to counts of the entries, (E,)."""
        _add_counts(self.cells, weights, counts)


def rows_of_batches(sources: EncodedSentences, targets: EncodedSentences) -> list[np.ndarray]:
    """Groups the pairs that have words on both sides, so that batches have about `CELLS` cells.

    Args:
        sources, targets: `EncodedSentences`, as many.

    Returns:
        list of int64 (B,), rows of the corpus, sorted.
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
        rows: list of int64 (B,), from `rows_of_batches`: sorted.
        known: int64 (E,), sorted keys of a trained table. Default: none.

    Returns:
        batches: list of `Batch`. Their entries point into `keys`.
        keys: int64, see `pair_keys`. Those of `known` first, then all others that occur, sorted.

    Raises:
        ValueError: too many pairs of words ("Expected at most 2147483647 pairs of words beside
            each other. Received: 3000000000").
    """
    known = np.zeros(0, "int64") if known is None else known
    if not rows:
        return [], known
    sources, targets = (side.chosen(np.concatenate(rows)) for side in (sources, targets))
    counts = np.stack([sources.lengths, targets.lengths])
    cell_starts = starts_of(counts[1] * (1 + counts[0]))
    before = sources.after(NULL)
    places, others = _occurrences(*before), _occurrences(*targets)
    beside = _words_beside(*before, *others)
    if len(known) + len(beside[1]) > MOST_ENTRIES:
        raise ValueError(
            f"Expected at most {MOST_ENTRIES} pairs of words beside each other. "
            f"Received: {len(known) + len(beside[1])}"
        )
    cells = np.empty(cell_starts[-1], "int32")
    known_words = words_of_keys(known)
    new = _numbered_cells(*before[1:], *targets, *places, *beside, *known_words, cell_starts, cells)
    keys = np.concatenate([known, pair_keys(*new)])
    batches, first = [], 0
    for group in rows:
        end = first + len(group)
        bounds = cell_starts[first : end + 1]
        batches.append(
            Batch(group, cells[bounds[0] : bounds[-1]], bounds - bounds[0], *counts[:, first:end])
        )
        first = end
    return batches, keys


def each_pair(batch: Batch, values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of a batch, each with its values (T, 1 + S), of values of all cells (C,)."""
    shapes = zip(batch.target_lengths.tolist(), (1 + batch.source_lengths).tolist(), strict=True)
    parts = np.split(values, batch.starts[1:-1])
    for row, part, shape in zip(batch.rows.tolist(), parts, shapes, strict=True):
        yield row, part.reshape(shape)


@compiled
def _look_up(cells, values, least, probabilities):
    """Sets found, float (C,), to the values (E,) of the entries of cells, at least this."""
    for cell in range(len(cells)):
        probabilities[cell] = max(values[cells[cell]], least)


@compiled
def _add_counts(cells, weights, counts):
    """Adds the weights of cells, float (C,), to the counts of their entries, (E,)."""
    for cell in range(len(cells)):
        counts[cells[cell]] += weights[cell]


@compiled
def _occurrences(words, starts):
    """Where each word stands in sentences.

    Args:
        words: int32 (W,).
        starts: int64 (N + 1,), see `EncodedSentences`.

    Returns:
        begins: int64 (V + 1,). Where the places of each word begin, and the last end.
        order: int64 (W,). Places in `words`, those of the same word next to each other.
        pairs: int64 (W,). The sentence of each of these.
    """
    begins = np.zeros(words.max() + 2, np.int64)
    for word in words:
        begins[word + 1] += 1
    begins = np.cumsum(begins)
    filled, order = begins.copy(), np.empty(len(words), np.int64)
    pairs = np.empty(len(words), np.int64)
    for pair in range(len(starts) - 1):
        for place in range(starts[pair], starts[pair + 1]):
            at = filled[words[place]]
            order[at], pairs[at] = place, pair
            filled[words[place]] += 1
    return begins, order, pairs


@compiled
def _words_beside(words, starts, begins, order, pairs):
    """Target words that stand beside each source word in some pair.

    They are collected in ascending order, so those of each source word are sorted.

    Args:
        words: int32, of the source.
        starts: int64 (N + 1,). Of each sentence in `words`.
        begins, order, pairs: `_occurrences` of the target.

    Returns:
        firsts: int64 (V + 1,). Where those of each source word begin, and the last end.
        beside: int32, target words.
    """
    seen, ends = np.full(words.max() + 1, -1, np.int32), np.zeros(len(begins), np.int64)
    firsts = np.zeros(len(seen) + 1, np.int64)
    found, count = np.empty(1024, np.int32), 0
    for other in range(len(begins) - 1):
        for at in range(begins[other], begins[other + 1]):
            for word in words[starts[pairs[at]] : starts[pairs[at] + 1]]:
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
def _numbered_cells(
    starts,
    others,
    other_starts,
    begins,
    order,
    pairs,
    firsts,
    beside,
    known,
    known_others,
    cell_starts,
    cells,
):
    """Sets the entries of all cells.

    Args:
        starts: int64 (N + 1,). Of each sentence of the source, NULL before each.
        others, other_starts: words and starts of the target.
        begins, order, pairs: `_occurrences` of the source.
        firsts, beside: `_words_beside`.
        known, known_others: int64 (E,), words of the known entries, sorted.
        cell_starts: int64 (N + 1,). Of each pair in `cells`.
        cells: int32 (C,), a result.

    Returns:
        source and target words of the entries that are not known, int32, sorted.
    """
    last = others.max()
    if len(known_others):
        last = max(last, known_others.max())
    seen, entries = np.full(last + 1, -1, np.int32), np.empty(last + 1, np.int32)
    new, new_others = np.empty(len(beside), np.int32), np.empty(len(beside), np.int32)
    count, passed = 0, 0
    for word in range(len(begins) - 1):
        while passed < len(known) and known[passed] == word:
            seen[known_others[passed]], entries[known_others[passed]] = word, passed
            passed += 1
        for other in beside[firsts[word] : firsts[word + 1]]:
            if seen[other] != word:
                entries[other] = len(known) + count
                new[count], new_others[count] = word, other
                count += 1
        for at in range(begins[word], begins[word + 1]):
            pair, place = pairs[at], order[at]
            width = starts[pair + 1] - starts[pair]
            cell = cell_starts[pair] + place - starts[pair]
            for other in others[other_starts[pair] : other_starts[pair + 1]]:
                cells[cell] = entries[other]
                cell += width
    return new[:count], new_others[:count]
