"""Byte-level byte-pair encoding, without the rules that cut texts into words."""

import functools
from collections.abc import Sequence

import numpy as np

from keras_attn.lazy_tensorflow import tf
from keras_attn.text.named_pieces import NamedPieces
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES

SPACE = r"\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
"""White space of Unicode inside a class of RE2, whose \\s is that of ASCII."""
_ESCAPES = (("\x01", "\x01\x02"), ("\0", "\x01\x03"))
_NONE = 2**31 - 1
"""Rank of a pair that is never merged."""


def byte_alphabet() -> str:
    """The character that stands for each byte in the names of pieces.

    Example:
        >>> byte_alphabet()[ord("a")], byte_alphabet()[ord(" ")]
        ('a', 'Ġ')
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return "".join(chr(byte if byte in plain else 256 + others.index(byte)) for byte in range(256))


class BytePairs(NamedPieces):
    """Abstract: words as bytes, of which neighbors are merged, the earliest learned pair first.

    Args:
        names: strings; the piece of each id in `byte_alphabet`, the four special ids first; "" for
            an id that no text has.
        merges: pairs of pieces, in the order in which they were learned.

    Attributes:
        spelled: the bytes of each id; a space stands for an ending.

    Raises:
        ValueError: no piece of a single byte; a merge of other pieces or into none.
    """

    ending: str
    """What stands after the last byte of a word in the names of pieces; no bytes of its own."""

    def __init__(self, names: Sequence[str], merges: Sequence[Sequence[str]]):
        self.merges = [tuple(pair) for pair in merges]
        values = {sign: byte for byte, sign in enumerate(byte_alphabet())}
        odd, spellings = [], [b""] * SPECIAL_PIECES
        for name in list(names)[SPECIAL_PIECES:]:
            signs = name.removesuffix(self.ending)
            if not set(signs) <= set(values) or (name and not signs):
                odd.append(name)
            spelled = bytes(values.get(sign, 0) for sign in signs)
            spellings.append(spelled if signs == name else spelled + b" ")
        if odd:
            raise ValueError(f"Expected names in the alphabet of bytes. Received: {odd[:5]}")
        self.spelled = spellings
        self._bytes, self._last_bytes = (_byte_ids(names, ending) for ending in ("", self.ending))
        super().__init__(names)

    def words(self, texts):
        """String (B,), UTF-8 without NUL, to its words, ragged string (B, W)."""
        raise NotImplementedError

    def make(self):
        """The table of ranks, and the function of `_merged`, traced once."""
        wrong = [
            pair
            for pair in self.merges
            if len(pair) != 2 or not {*pair, "".join(pair)} <= self.ids.keys()
        ]
        if wrong:
            raise ValueError(
                "Expected merges of two pieces into one of the vocabulary. "
                f"Received: {' '.join(wrong[0])!r} and {len(wrong) - 1} others"
            )
        pairs = np.array([[self.ids[part] for part in pair] for pair in self.merges], "int64")
        pairs = pairs.reshape(-1, 2)
        self._products = np.array([self.ids[a + b] for a, b in self.merges] or [0], "int32")
        self._at_once = _are_ordered(self.merges, self.ending)
        with tf.init_scope():
            keys = tf.constant(pairs[:, 0] * self.vocabulary_size + pairs[:, 1])
            ranks = tf.range(len(self.merges), dtype=tf.int32)
            entries = tf.lookup.KeyValueTensorInitializer(keys, ranks)
            self._ranks = tf.lookup.StaticHashTable(entries, _NONE)
        signature = [tf.TensorSpec((None,), tf.string)]
        return functools.partial(tf.function(self._merged, signature, autograph=False))

    def settings(self):
        return {"names": self.names, "merges": [list(pair) for pair in self.merges]}

    def encode(self, texts):
        # NUL, where tensorflow-text would stop reading, is escaped by signs of its kind, which no
        # rule cuts apart.
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        for sign, escaped in _ESCAPES:
            texts = tf.strings.regex_replace(texts, sign, escaped)
        words = self.words(texts)
        values = words.flat_values
        for sign, escaped in reversed(_ESCAPES):
            values = tf.strings.regex_replace(values, escaped, sign)
        unique, places = tf.unique(values)
        tokens = tf.gather(self.in_graphs(unique), places)
        return words.with_flat_values(tokens).merge_dims(1, 2)

    def joined(self, tokens):
        spelled = tokens.with_values(tf.gather(tf.constant(self.spelled), tokens.values))
        texts = tf.strings.reduce_join(spelled, axis=-1)
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        return tf.strings.strip(texts)

    def _merged(self, words):
        """Words, string (U,), to ragged int32 (U, pieces)."""
        spelled = tf.strings.bytes_split(words)
        values = tf.reshape(tf.io.decode_raw(spelled.values, tf.uint8), (-1,))
        values = tf.cast(values, tf.int32)
        owners, count = spelled.value_rowids(), spelled.nrows()
        ends = tf.concat([owners[:-1] != owners[1:], tf.ones_like(owners[-1:], tf.bool)], 0)
        last, others = (tf.gather(ids, values) for ids in (self._last_bytes, self._bytes))
        tokens = tf.where(ends, last, others)

        def ranks(tokens, owners):
            keys = tf.cast(tokens[:-1], tf.int64) * self.vocabulary_size
            keys = tf.where(owners[:-1] == owners[1:], keys + tf.cast(tokens[1:], tf.int64), -1)
            return self._ranks.lookup(keys)

        def merge(tokens, owners, rank):
            best = tf.math.unsorted_segment_min(rank, owners[:-1], count)
            chosen = (rank < _NONE) & (rank == tf.gather(best, owners[:-1]))
            chosen = _apart(chosen) if self._at_once else _first(chosen, owners[:-1], count)
            products = tf.gather(self._products, tf.where(chosen, rank, 0))
            tokens = tf.concat([tf.where(chosen, products, tokens[:-1]), tokens[-1:]], 0)
            stays = tf.concat([[True], ~chosen], 0)
            tokens, owners = tf.boolean_mask(tokens, stays), tf.boolean_mask(owners, stays)
            return tokens, owners, ranks(tokens, owners)

        tokens, owners, _ = tf.while_loop(
            lambda tokens, owners, rank: tf.reduce_any(rank < _NONE),
            merge,
            (tokens, owners, ranks(tokens, owners)),
            shape_invariants=(tf.TensorShape([None]),) * 3,
        )
        return tf.RaggedTensor.from_value_rowids(tokens, owners, count, validate=False)


def _byte_ids(names, ending):
    """The id of each byte before an ending."""
    ids = {name: place for place, name in enumerate(names) if place >= SPECIAL_PIECES}
    signs = [sign + ending for sign in byte_alphabet()]
    if missing := [sign for sign in signs if sign not in ids]:
        raise ValueError(
            f"Expected a piece for each of 256 bytes. Received: none for {missing[0]!r}"
        )
    return [ids[sign] for sign in signs]


def _are_ordered(merges, ending):
    """Whether a piece is made by one merge only, after those of its parts.

    Then all occurrences of a pair in a word may be merged at once: pairs with the new piece come
    later.
    """
    alphabet = byte_alphabet()
    known = {*alphabet, *(sign + ending for sign in alphabet)}
    for first, second in merges:
        if not {first, second} <= known or first + second in known:
            return False
        known.add(first + second)
    return True


def _apart(chosen):
    """Every second of neighbors that are chosen, from the first, bool (N,): "aaa" is "aa a"."""
    places = tf.range(tf.size(chosen))
    starts = chosen & ~tf.concat([[False], chosen[:-1]], 0)
    runs = tf.cumsum(tf.cast(starts, tf.int32)) - 1
    first = tf.gather(tf.concat([tf.boolean_mask(places, starts), [0]], 0), tf.maximum(runs, 0))
    return chosen & ((places - first) % 2 == 0)


def _first(chosen, owners, count):
    """The first that is chosen of each owner, bool (N,)."""
    places = tf.range(tf.size(chosen))
    marked = tf.where(chosen, places, _NONE)
    return chosen & (
        places == tf.gather(tf.math.unsorted_segment_min(marked, owners, count), owners)
    )
