"""Sentences with their trees to pieces of words, symbols and tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from keras_attn.text.linearization import linearize
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.words import split_words, word_pieces
from pipelines.pair_encoding import PairTokens, in_parts
from pipelines.readers.tree_reader import TreePair


@dataclass(frozen=True)
class TreeEncoding:
    """Encodes sentences and the symbols of their trees; what is in no table has UNKNOWN_ID.

    Attributes:
        symbols: `SymbolTable` of the targets.
        tokenizer: `Tokenizer` of the words.
        tags: `SymbolTable`.
        most: int. Pieces of a word that are kept.
    """

    units: ClassVar[tuple[str, str]] = ("words", "symbols")

    symbols: SymbolTable
    tokenizer: Tokenizer
    tags: SymbolTable
    most: int

    def encode(self, pairs: Sequence[TreePair]) -> PairTokens:
        """See `PairEncoding`."""
        rows = [linearize(pair.target) for pair in pairs]

        def pieces(sentences):
            return word_pieces(split_words(sentences), self.tokenizer, self.most)

        return PairTokens(
            in_parts(pieces, [pair.source for pair in pairs]),
            in_parts(self.symbols.encode, [" ".join(row.symbols) for row in rows]),
            in_parts(self.tags.encode, [" ".join(row.tags) for row in rows]),
        )
