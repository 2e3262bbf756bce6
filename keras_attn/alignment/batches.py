"""Sentence pairs of similar length, as padded arrays of indices into a sparse table."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_attn.alignment.vocabulary import NULL

CELLS = 1 << 16
"""Greatest number of cells (one source word beside one target word) of a batch of several pairs."""
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
        return values[self.entries][self.cells]

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
    every = np.sort(np.concatenate([[-1], *(keys for keys, _ in found)]))
    every = every[1:][np.diff(every) > 0]  # Many times faster than np.unique, which hashes.
    keys = np.concatenate([known, np.setdiff1d(every, known, assume_unique=True)])
    order = np.argsort(keys, kind="stable")
    batches = []
    for chosen, (distinct, cells) in zip(rows, found, strict=True):
        entries = order[np.searchsorted(keys, distinct[1:], sorter=order)]
        lengths = [np.array([len(side[row]) for row in chosen]) for side in (sources, targets)]
        batches.append(Batch(chosen, np.append(len(keys), entries), cells, *lengths))
    return batches, keys


def each_pair(batch: Batch, values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of a batch, each with its part of values (B, T, 1 + S), without padding."""
    lengths = zip(batch.target_lengths.tolist(), batch.source_lengths.tolist(), strict=True)
    for row, value, (target, source) in zip(batch.rows.tolist(), values, lengths, strict=True):
        yield row, value[:target, : 1 + source]


def _keys_of(sources, targets, rows):
    """Distinct keys of a batch, sorted, −1 for padding first; int32 (B, T, 1 + S) into them."""
    source = _padded([np.append(NULL, sources[row]) for row in rows])[:, None, :]
    target = _padded([targets[row] for row in rows])[:, :, None]
    keys = np.where((source < 0) | (target < 0), -1, pair_keys(source, target))
    distinct, cells = np.unique(keys, return_inverse=True)
    if distinct[0] >= 0:
        distinct, cells = np.append(-1, distinct), cells + 1
    return distinct, cells.reshape(keys.shape).astype("int32")


def _padded(sentences):
    """Sentences as int64 (B, longest), filled up with −1."""
    result = np.full((len(sentences), max(map(len, sentences))), -1, "int64")
    for row, words in zip(result, sentences, strict=True):
        row[: len(words)] = words
    return result
