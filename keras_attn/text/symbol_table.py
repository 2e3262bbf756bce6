"""A vocabulary of symbols, such as brackets or tags, in the graph."""

import re
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.contracts import END_ID, UNKNOWN_ID
from keras_attn.text.names_file import load_names, save_names

SPECIAL_SYMBOLS = 4
"""Ids before those of the symbols: PAD_ID, UNKNOWN_ID, START_ID, END_ID."""


class SymbolTable(tf.Module):
    """Symbols to ids and back: what a `Tokenizer` is to text, with nothing below the symbol.

    Args:
        symbols: strings without ASCII white space, each once; the first has id SPECIAL_SYMBOLS.

    Raises:
        ValueError: no symbol, one twice, or one that is empty or has white space.

    Example:
        >>> table = SymbolTable(["(NP", ")NP", "XX"])
        >>> table.encode(["(NP XX )NP"]).to_list()
        [[4, 6, 5]]
    """

    unit = "symbols"

    def __init__(self, symbols: Sequence[str]):
        super().__init__()
        self.symbols = tuple(symbols)
        if not self.symbols or len(set(self.symbols)) < len(self.symbols):
            raise ValueError(f"Expected symbols, each once. Received: {self.symbols}")
        if bad := [one for one in self.symbols if not re.fullmatch(r"\S+", one, re.ASCII)]:
            raise ValueError(f"Expected symbols without white space. Received: {bad[:5]}")
        self.vocabulary_size = SPECIAL_SYMBOLS + len(self.symbols)
        ids = tf.range(SPECIAL_SYMBOLS, self.vocabulary_size)
        known = tf.lookup.KeyValueTensorInitializer(tf.constant(self.symbols), ids)
        self._ids = tf.lookup.StaticHashTable(known, UNKNOWN_ID)
        self._names = ("",) * SPECIAL_SYMBOLS + self.symbols

    def equals(self, other) -> bool:
        """Whether the other has the same ids."""
        return isinstance(other, SymbolTable) and self.symbols == other.symbols

    def id_of(self, symbol: str) -> int:
        """The id of a symbol.

        Raises:
            ValueError: it is not in the table.
        """
        if symbol not in self.symbols:
            raise ValueError(f"Expected one of {', '.join(self.symbols)}. Received: {symbol!r}")
        return SPECIAL_SYMBOLS + self.symbols.index(symbol)

    @classmethod
    def load(cls, folder) -> "SymbolTable":
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no symbols, or damaged ones.
        """
        return load_names(folder, cls.unit, cls)

    def save(self, folder) -> None:
        """Writes the symbols into a folder."""
        save_names(folder, self.unit, self.symbols)

    def normalize(self, texts):
        """Symbols with one space between them: string (...) to string (...)."""
        return tf.strings.strip(tf.strings.regex_replace(texts, "\\s+", " "))

    def encode(self, texts):
        """Symbols between ASCII white space, string (B,), to ragged int32 (B, symbols); UNKNOWN_ID
        for those that are not in the table."""
        found = tf.strings.split(texts)
        return found.with_flat_values(self._ids.lookup(found.flat_values))

    def decode(self, tokens):
        """Ids, int32 (..., T), to symbols with spaces between them, up to the first END_ID."""
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        before_end = tf.cumsum(tf.cast(tokens == END_ID, tf.int32), axis=-1) == 0
        pieces = tf.where(before_end, self.pieces(tokens), "")
        return self.normalize(tf.strings.reduce_join(pieces, axis=-1, separator=" "))

    def pieces(self, tokens):
        """Ids, int32 (..., T), to the symbols they stand for; '' for all others."""
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        known = (tokens >= 0) & (tokens < self.vocabulary_size)
        return tf.gather(tf.constant(self._names), tf.where(known, tokens, 0))
