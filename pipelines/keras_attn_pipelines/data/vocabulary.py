"""Protocol of vocabularies: tokenizers, tables of symbols and of labels."""

from collections.abc import Mapping
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


def smaller_than_asked(vocabularies: Mapping[str, Vocabulary], size: int) -> list[str]:
    """Lines of the report on vocabularies that the texts could not fill.

    Args:
        vocabularies: vocabularies of pieces by name.
        size: the maximum vocabulary size.
    """
    return [
        f"{name}: {own.vocabulary_size} {own.unit} instead of {size}, the texts have no more"
        for name, own in vocabularies.items()
        if own.vocabulary_size < size
    ]
