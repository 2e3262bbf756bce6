"""Sentences as numbers of their words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class EncodedSentences(NamedTuple):
    """Sentences of one language, one after the other.

    Attributes:
        words: int32 (W,). Numbers of the words of all sentences.
        starts: int64 (N + 1,). Where each sentence begins, and the last ends.
    """

    words: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, words: np.ndarray, lengths: Sequence[int]) -> "EncodedSentences":
        """Sentences of these lengths, of the words of all of them."""
        return cls(words, starts_of(lengths))

    @property
    def lengths(self) -> np.ndarray:
        """int64 (N,), words of each sentence."""
        return np.diff(self.starts)

    def chosen(self, rows: np.ndarray) -> "EncodedSentences":
        """Those of some rows, int64 (B,), distinct and sorted."""
        lengths = self.lengths
        if len(rows) == len(lengths):
            return self
        stays = np.isin(np.arange(len(lengths)), rows)
        return self.of(self.words[np.repeat(stays, lengths)], lengths[rows])

    def after(self, word: int) -> "EncodedSentences":
        """The same with a word before each sentence."""
        lengths = 1 + self.lengths
        starts = starts_of(lengths)
        words = np.full(starts[-1], word, self.words.dtype)
        stays = np.ones(len(words), bool)
        stays[starts[:-1]] = False
        words[stays] = self.words
        return EncodedSentences(words, starts)


def starts_of(sizes) -> np.ndarray:
    """int64 (N + 1,): where parts of these sizes begin, and the last ends."""
    return np.append(0, np.cumsum(sizes, dtype="int64"))
