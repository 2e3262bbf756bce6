"""Sentence pairs of similar length, as padded arrays of indices into a sparse table."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_attn.alignment.vocabulary import NULL

CELLS = 1 << 16
"""Greatest number of cells (one source word beside one target word) of a batch of several pairs."""
DENSE = 32
"""Greatest size of a table of all pairs of the words of a batch, as a multiple of its cells."""
_SHIFT = 32


class Batch(NamedTuple):
    """Sentence pairs of similar length in one direction.

    Attributes:
        rows: int (B,). Which pairs of the corpus.
        entries: int (E,). Entries of the lexical table that occur, the one of padding first.
        cells: int32 (B, T, 1 + S). Position in `entries` for each target word beside NULL and each
            source word; 0 is padding.
        source_lengths: int (B,), words.
        target_lengths: int (B,), words.
    """

    rows: np.ndarray
    entries: np.ndarray
    cells: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray

    def lexical(self, values: np.ndarray) -> np.ndarray:
        """Probability of each cell, float (B, T, 1 + S), 0 at padding; from values (E + 1,)."""
        return values.take(self.entries).take(self.cells)

    def add_counts(self, counts: np.ndarray, weights: np.ndarray) -> None:
        """Adds a weight for each cell, float (B, T, 1 + S), to counts of the entries, (E + 1,)."""
        counts[self.entries] += np.bincount(
            self.cells.ravel(), weights.ravel(), minlength=len(self.entries)
        )


def rows_of_batches(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]):
    """Groups the pairs that have words on both sides by length.

    Args:
        sources, targets: lists of int (S,) and int (T,), one for each pair.

    Returns:
        list of int (B,), rows of the corpus; short sentences first.
    """
    lengths = np.array([[len(words) for words in side] for side in (sources, targets)], int)
    rows = np.flatnonzero(lengths.min(axis=0) > 0) if lengths.size else np.zeros(0, int)
    rows = rows[np.lexsort((lengths.min(axis=0)[rows], lengths.max(axis=0)[rows]))]
    batches, start, longest = [], 0, np.zeros(2, int)
    for end, row in enumerate(rows):
        longest = np.maximum(longest, lengths[:, row])
        if end > start and (end + 1 - start) * np.prod(longest + 1) > CELLS:
            batches.append(rows[start:end])
            start, longest = end, lengths[:, row]
    return [*batches, rows[start:]] if len(rows) else []


def pair_keys(sources, targets):
    """Keys of words beside each other, source · 2³² + target, int64; shapes as in NumPy."""
    return (np.asarray(sources, "int64") << _SHIFT) | np.asarray(targets, "int64")


def words_of_keys(keys):
    """Numbers of the source words and of the target words of keys, each int64 (E,)."""
    return keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)


def make_batches(sources, targets, rows, known=None):
    """Batches of a corpus in one direction, and the keys of their lexical table.

    Args:
        sources, targets: lists of int (S,) and int (T,), one for each pair.
        rows: list of int (B,), from `rows_of_batches`.
        known: int64 (E,), sorted keys of a trained table. Default: none.

    Returns:
        batches: list of `Batch`. Their entries point into `keys`, the padding's to its end.
        keys: int64, see `pair_keys`. Those of `known` first, then all others that occur, sorted.
    """
    known = np.zeros(0, "int64") if known is None else known
    found = [_keys_of(sources, targets, chosen) for chosen in rows]
    every, (old, *own) = _merged([known, *(distinct[1:] for distinct, _ in found)])
    places = _places(old, len(every))
    keys = np.empty_like(every)
    keys[places] = every
    batches = []
    for chosen, (_, cells), ranks in zip(rows, found, own, strict=True):
        lengths = [np.array([len(side[row]) for row in chosen]) for side in (sources, targets)]
        batches.append(Batch(chosen, np.append(len(keys), places[ranks]), cells, *lengths))
    return batches, keys


def _merged(runs):
    """What occurs in sorted runs, sorted; and for each run where its members are in it."""
    flat = np.concatenate(runs)
    order = np.argsort(flat, kind="stable")  # Merges what is sorted already.
    flat = flat[order]
    first = np.append(np.ones(min(1, len(flat)), bool), flat[1:] > flat[:-1])
    ranks = np.empty(len(flat), "int64")
    ranks[order] = np.cumsum(first) - 1
    return flat[first], np.split(ranks, np.cumsum([len(run) for run in runs[:-1]]))


def _places(known, count):
    """int64 (count,): places of keys in a table that has the known ones first, then the others."""
    places, old = np.zeros(count, "int64"), np.zeros(count, bool)
    old[known] = True
    places[old] = np.arange(len(known))
    places[~old] = np.arange(len(known), count)
    return places


def each_pair(batch: Batch, values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of a batch, each with its part of values (B, T, 1 + S), without padding."""
    lengths = zip(batch.target_lengths.tolist(), batch.source_lengths.tolist(), strict=True)
    for row, value, (target, source) in zip(batch.rows.tolist(), values, lengths, strict=True):
        yield row, value[:target, : 1 + source]


def _keys_of(sources, targets, rows):
    """Distinct keys of a batch, sorted, −1 for padding first; int32 (B, T, 1 + S) into them."""
    nulls = np.zeros(1, "int32") + NULL
    source_words, source = _numbered([words for row in rows for words in (nulls, sources[row])], 2)
    target_words, target = _numbered([targets[row] for row in rows], 1)
    pairs = source[:, None, :] * len(target_words) + target[:, :, None]
    pairs[(source == 0)[:, None, :] | (target == 0)[:, :, None]] = 0
    distinct, cells = _distinct(pairs, len(source_words) * len(target_words))
    of_source, of_target = np.divmod(distinct, len(target_words))
    keys = pair_keys(source_words[of_source], target_words[of_target])
    keys[0] = -1
    return keys, cells


def _distinct(numbers, end):
    """The distinct of numbers in [0, end), 0 among them, sorted; and int32 of the numbers' shape.

    As np.unique, but without sorting where there are not many more possible numbers than given.
    """
    if end > DENSE * numbers.size:
        distinct, places = np.unique(np.append(0, numbers), return_inverse=True)
        return distinct, places[1:].reshape(numbers.shape).astype("int32")
    occurs = np.zeros(end, bool)
    occurs[0] = occurs[numbers] = True
    distinct = np.flatnonzero(occurs)
    places = np.zeros(end, "int32")
    places[distinct] = np.arange(len(distinct), dtype="int32")
    return distinct, places[numbers]


def _numbered(parts, each):
    """Distinct words, sorted, −1 first, and which of them stand where, `each` parts a sentence.

    Args:
        parts: list of int32 arrays.
        each: int ≥ 1.

    Returns:
        int64 (W,), and int64 (B, longest) into them, 0 at padding.
    """
    flat = np.concatenate(parts)
    words, numbers = np.unique(flat, return_inverse=True)
    lengths = np.array([len(part) for part in parts]).reshape(-1, each).sum(axis=1)
    padded = np.zeros((len(lengths), lengths.max()), "int64")
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = numbers + 1
    return np.append(-1, words.astype("int64")), padded
