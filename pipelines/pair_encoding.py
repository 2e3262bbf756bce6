"""Pairs to the ids that a model reads and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import tensorflow as tf

from keras_attn.contracts import END_ID
from keras_attn.text.tokenizer import Tokenizer
from pipelines.pairs import TextPair

ENCODED = 2**16
"""Texts that are encoded at a time."""


class PairTokens(NamedTuple):
    """R pairs as ids.

    Attributes:
        sources: ragged int32 (R, S), END_ID last; or (R, S, P), of each word its pieces.
        targets: ragged int32 (R, T), without START_ID and END_ID.
        tags: ragged int32 (R, S − 1), what is to be said of each word; None for nothing.
    """

    sources: tf.RaggedTensor
    targets: tf.RaggedTensor
    tags: tf.RaggedTensor | None = None


class PairEncoding(Protocol):
    """What makes ids of pairs.

    Attributes:
        units: what the ids of sources and of targets are, in messages.
    """

    units: ClassVar[tuple[str, str]]

    def encode(self, pairs: Sequence[Any]) -> PairTokens:
        """`PairTokens` of pairs."""


@dataclass(frozen=True)
class TextEncoding:
    """Encodes pairs of texts.

    Attributes:
        tokenizer: `Tokenizer` of the targets.
        source_tokenizer: `Tokenizer` of the sources.
    """

    units: ClassVar[tuple[str, str]] = ("pieces", "pieces")

    tokenizer: Tokenizer
    source_tokenizer: Tokenizer

    def encode(self, pairs: Sequence[TextPair]) -> PairTokens:
        """See `PairEncoding`."""
        sources = in_parts(self.source_tokenizer.encode, [pair.source for pair in pairs])
        targets = in_parts(self.tokenizer.encode, [pair.target for pair in pairs])
        return PairTokens(tf.concat([sources, ends(len(pairs))], axis=1), targets)


def length_text(encoding: PairEncoding, source: int, target: int, joined: str = "and") -> str:
    """How long a pair is, in words, such as "7 words and 16 symbols, ends included"."""
    return f"{source} {encoding.units[0]} {joined} {target} {encoding.units[1]}, ends included"


def ends(rows: int) -> tf.Tensor:
    """int32 (rows, 1): END_ID."""
    return tf.fill((rows, 1), END_ID)


def in_parts(encode, texts: Sequence[str]) -> tf.RaggedTensor:
    """What `encode` makes of texts, asked for ENCODED at a time."""
    starts = range(0, max(len(texts), 1), ENCODED)
    parts = [encode(tf.constant(texts[start : start + ENCODED], tf.string)) for start in starts]
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)
