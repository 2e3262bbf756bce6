"""What every writer of decoded answers can do."""

import abc
from collections.abc import Sequence
from typing import Any

from keras_attn.serving.readers.reader import Read


class Writer(abc.ABC):
    """Abstract: decoded tokens to texts.

    Attributes:
        vocabulary: `Tokenizer`, or another vocabulary with `pieces` and `decode`, of the tokens.
        scores: whether it also makes targets of given texts, see `targets`.
        keeps_length: whether its constraints keep answers within their maximum length.
        forced: ids of the first tokens of every answer, which cost nothing.
        prompt: ids that every answer begins with, before which no search begins; they cost nothing,
            and no length penalty counts them. They are fewer than the tokens of any answer.
    """

    vocabulary: Any
    scores: bool
    keeps_length: bool
    forced: Sequence[int] = ()
    prompt: Sequence[int] = ()

    @abc.abstractmethod
    def limits(self, read: Read, most: Any) -> list[Any]:
        """Constraints of the search.

        Args:
            read: `Read` of B requests.
            most: int32 (B,), maximum tokens of each answer, its end included.
        """

    @abc.abstractmethod
    def strategy(self, strategy: Any, read: Read) -> Any:
        """The strategy of the search, from that of the service."""

    @abc.abstractmethod
    def write(self, tokens: Any, read: Read, model: Any, context: Any) -> dict[str, Any]:
        """Answers.

        Args:
            tokens: int32 (B, n, T), PAD_ID where nothing could be read.
            read: `Read` of the requests.
            model: the service's.
            context: what its search started from.

        Returns:
            dict with TEXT and ANSWER_PIECES, and what else the answers say of the model.
        """

    @abc.abstractmethod
    def targets(self, texts: Any, read: Read) -> Any:
        """Given texts, string (B,), as they are encoded to be scored."""

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Description of the writer, of JSON types."""
