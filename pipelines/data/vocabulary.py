"""Protocol of vocabularies: tokenizers, tables of symbols and of labels."""

from typing import Any, ClassVar, Protocol


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
