"""What everything that gives ids to things has: a tokenizer, a table of symbols or of labels."""

from typing import Any, ClassVar, Protocol


class Vocabulary(Protocol):
    """Ids from 0 on for pieces of text, symbols or labels.

    Attributes:
        unit: what it holds, in the plural.
        vocabulary_size: int. How many ids there are.
    """

    unit: ClassVar[str]
    vocabulary_size: int

    def equals(self, other) -> bool:
        """Whether the other has the same ids."""

    def save(self, folder) -> None:
        """Writes it into a folder."""

    @classmethod
    def load(cls, folder) -> Any:
        """Reads what `save` wrote.

        Raises:
            ValueError: nothing of the kind there, or damaged.
        """
