"""Words and their numbers."""

from collections.abc import Iterable, Sequence

import numpy as np

NULL = 0
"""Number of the NULL word, which stands before every sentence."""


class Vocabulary:
    """The words of one language, lower-cased, numbered from 1; 0 is the NULL word.

    Args:
        words: distinct lower-cased words, in the order of their numbers.

    Attributes:
        words: tuple of str, without NULL.

    Raises:
        ValueError: a word occurs twice ("Expected distinct words. Received: 'the' twice").

    Example:
        >>> vocabulary = Vocabulary.of([["The", "house"], ["the", "car"]])
        >>> vocabulary.words, vocabulary.encode(["The", "car"]).tolist()
        (('the', 'house', 'car'), [1, 3])
    """

    def __init__(self, words: Iterable[str]):
        self.words = tuple(words)
        self._numbers = {word: number for number, word in enumerate(self.words, start=1)}
        for number, word in enumerate(self.words, start=1):
            if self._numbers[word] != number:
                raise ValueError(f"Expected distinct words. Received: {word!r} twice")

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary of sentences, each a sequence of words, by first occurrence."""
        return cls(()).extended(sentences)

    def extended(self, sentences: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary with the new words of sentences after its own."""
        seen = dict.fromkeys(self.words)
        seen.update(dict.fromkeys(word.lower() for words in sentences for word in words))
        return Vocabulary(seen)

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """Numbers of words that are all in the vocabulary, int32 (T,)."""
        return np.array([self._numbers[word.lower()] for word in words], "int32")
