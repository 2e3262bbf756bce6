"""Words and their numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from keras_attn.alignment.encoded_sentences import EncodedSentences

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
        >>> vocabulary.words, vocabulary.encode([["The", "car"]]).words.tolist()
        (('the', 'house', 'car'), [1, 3])
    """

    def __init__(self, words: Iterable[str]):
        self.words = tuple(words)
        self._numbers = _Numbers(zip(self.words, range(1, len(self.words) + 1)))
        if len(self._numbers) < len(self.words):
            twice = next(word for word, count in Counter(self.words).items() if count > 1)
            raise ValueError(f"Expected distinct words. Received: {twice!r} twice")

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary of sentences, each a sequence of words, by first occurrence."""
        return cls(()).extended(sentences)

    def extended(self, sentences: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary with the new words of sentences after its own."""
        seen = dict.fromkeys(self.words)
        distinct = dict.fromkeys(chain.from_iterable(sentences))
        seen.update(dict.fromkeys(word.lower() for word in distinct))
        return Vocabulary(seen)

    def encode(self, sentences: Sequence[Sequence[str]]) -> EncodedSentences:
        """Sentences whose words are all in the vocabulary, as numbers."""
        numbers = map(self._numbers.__getitem__, chain.from_iterable(sentences))
        return EncodedSentences.of(
            np.fromiter(numbers, "int32"), [len(words) for words in sentences]
        )


class _Numbers(dict):
    """Numbers of lower-cased words; other spellings that are asked for are kept beside them."""

    def __missing__(self, word):
        lowered = word.lower()
        if lowered == word:
            raise KeyError(word)
        self[word] = self[lowered]
        return self[word]
