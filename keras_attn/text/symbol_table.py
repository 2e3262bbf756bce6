"""A vocabulary of symbols, such as brackets or tags."""

import re
from collections.abc import Iterable, Sequence

from keras_attn.contracts import END_ID, UNKNOWN_ID
from keras_attn.lazy_tensorflow import tf
from keras_attn.text.graph_object import HAS_GRAPHS
from keras_attn.text.name_table import NameTable
from keras_attn.text.tokenizer import before_end

SPECIAL_SYMBOLS = 4
"""Ids before those of the symbols: PAD_ID, UNKNOWN_ID, START_ID, END_ID."""


class SymbolTable(NameTable):
    """Symbols to ids and back: what a `Tokenizer` is to text, with nothing below the symbol.

    Args:
        names: the symbols, strings without ASCII white space, each once; the first has id
            SPECIAL_SYMBOLS.

    Raises:
        ValueError: no symbol, one twice, or one that is empty or has white space.

    Example:
        >>> table = SymbolTable(["(NP", ")NP", "XX"])
        >>> table.encode(["(NP XX )NP"]).to_list()
        [[4, 6, 5]]
    """

    unit = "symbols"
    first_id = SPECIAL_SYMBOLS
    pattern = r"(?a)\S+"
    rule = "without white space"

    def __init__(self, names: Sequence[str]):
        super().__init__(names)
        self._made = self._make() if HAS_GRAPHS else None

    def _make(self):
        """The table in TensorFlow's graphs."""
        with tf.init_scope():
            ids = tf.range(self.first_id, self.vocabulary_size)
            entries = tf.lookup.KeyValueTensorInitializer(tf.constant(self.names), ids)
            return tf.lookup.StaticHashTable(entries, UNKNOWN_ID)

    @property
    def _lookup(self):
        if self._made is None:
            self._made = self._make()
        return self._made

    def normalize(self, texts):
        """Symbols with one space between them: string (...) to string (...)."""
        return tf.strings.strip(tf.strings.regex_replace(texts, "\\s+", " "))

    def encode(self, texts):
        """Symbols between ASCII white space, string (B,), to ragged int32 (B, symbols); UNKNOWN_ID
        for those that are not in the table."""
        symbols = tf.strings.split(texts)
        return symbols.with_flat_values(self._lookup.lookup(symbols.flat_values))

    def decode(self, tokens):
        """Ids, int32 (..., T), to symbols with spaces between them, up to the first END_ID."""
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        before_end = tf.cumsum(tf.cast(tokens == END_ID, tf.int32), axis=-1) == 0
        pieces = tf.where(before_end, self.pieces(tokens), "")
        return self.normalize(tf.strings.reduce_join(pieces, axis=-1, separator=" "))

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Strings to lists of ids, as `encode`, without TensorFlow."""
        return [[self._ids.get(symbol, UNKNOWN_ID) for symbol in _symbols(text)] for text in texts]

    def decode_all(self, tokens) -> list[str]:
        """Rows of ids, lists or an int array (B, T), to strings; needs no TensorFlow."""
        first, last = self.first_id, self.vocabulary_size
        rows = ([token for token in before_end(row) if first <= token < last] for row in tokens)
        return [" ".join(self.names[token - first] for token in row) for row in rows]


def _symbols(text):
    """What stands between ASCII white space."""
    return [symbol for symbol in re.split(r"[\t\n\v\f\r ]+", text) if symbol]
