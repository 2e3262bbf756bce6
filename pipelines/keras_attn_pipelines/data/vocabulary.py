"""Protocol of vocabularies: tokenizers, tables of symbols and of labels."""

from typing import Any, ClassVar, Protocol

TOKENIZER = "tokenizer"
"""Name of the vocabulary of answers; also of sources where there is no SOURCE_TOKENIZER."""
SOURCE_TOKENIZER = "source_tokenizer"
"""Name of the vocabulary of sources."""
LABELS, WORDS, TAGS, FIELDS = "labels", "words", "tags", "fields"
"""Names of vocabularies of classes, whole words, tags of words and fields of facts."""
SOURCE_WORDS, ANSWER_WORDS = "source_words", "answer_words"
"""Names of the vocabularies of algorithmic problems."""


class Vocabulary(Protocol):
    """Ids from 0 for pieces of text, symbols or labels.

    Attributes:
        unit: plural noun for its entries.
        vocabulary_size: int. Number of ids.
    """

    unit: ClassVar[str]
    vocabulary_size: int

    def equals(self, other) -> bool:
        """Whether the other vocabulary has the same ids."""

    def save(self, folder) -> None:
        """Writes it into a folder."""

    @classmethod
    def load(cls, folder) -> Any:
        """Reads what `save` wrote.

        Raises:
            ValueError: missing or damaged files.
        """
