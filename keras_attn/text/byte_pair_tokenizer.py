"""Byte-level byte-pair encoding, the tokenizer of GPT-2."""

import functools
from collections.abc import Sequence

import numpy as np

from keras_attn.contracts import WORD_MARK
from keras_attn.lazy_tensorflow import tf, tf_text
from keras_attn.text.named_pieces import NamedPieces
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES

SPACE = r"\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
"""White space of Unicode inside a class of RE2, whose \\s is that of ASCII."""
_CHUNKS = f"^[^{SPACE}]+|[{SPACE}][^{SPACE}]+"
_WORDS = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+"
    rf"| ?[^{SPACE}\p{{L}}\p{{N}}]+|[{SPACE}]+"
)
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


class BytePairTokenizer(NamedPieces):
    """Words as bytes, of which neighbors are merged, the earliest learned pair first.

    A word is what GPT-2's regular expression finds: a contraction, or letters, digits or other
    signs with at most one space before them, or white space. No text is changed, and nothing is
    unknown; only invalid UTF-8 becomes U+FFFD. Decoding leaves out white space of ASCII at the
    ends, and shows U+FFFD for bytes that are no UTF-8.

    Text that looks like a special token, such as "<|endoftext|>", is spelled like any other.

    Args:
        names: strings; the piece of each id in `byte_alphabet`, the four special ids first; "" for
            an id that no text has.
        merges: pairs of pieces, in the order in which they were learned.

    Raises:
        ValueError: no piece of a single byte; a merge of other pieces or into none.

    Example:
        >>> alphabet = byte_alphabet()
        >>> merges = [("a", "t"), ("c", "at"), ("Ġ", "cat")]
        >>> names = ["", "", "", "", *alphabet, *("".join(pair) for pair in merges)]
        >>> tokenizer = BytePairTokenizer(names, merges)
        >>> tokens = tokenizer.encode(["cat cat 猫"])
        >>> [piece.decode() for piece in tokenizer.pieces(tokens[0]).numpy()[:2]]
        ['cat', '▁cat']
        >>> tokenizer.decode(tokens).numpy()[0].decode()
        'cat cat 猫'

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", 2.2;
    Sennrich et al. 2016, arXiv:1508.07909. Ids are those of the library tokenizers, but for letters
    and digits that one of both Unicode tables does not know.
    """

    lowercase = False

    def __init__(self, names: Sequence[str], merges: Sequence[Sequence[str]]):
        self.merges = [tuple(pair) for pair in merges]
        alphabet = byte_alphabet()
        values = {sign: byte for byte, sign in enumerate(alphabet)}
        own = list(names)[SPECIAL_PIECES:]
        if odd := [name for name in own if not set(name) <= set(values)]:
            raise ValueError(f"Expected names in the alphabet of bytes. Received: {odd[:5]}")
        self._spelled = [b""] * SPECIAL_PIECES
        self._spelled += [bytes(values[sign] for sign in name) for name in own]
        self._bytes = [own.index(sign) + SPECIAL_PIECES if sign in own else -1 for sign in alphabet]
        if -1 in self._bytes:
            raise ValueError(
                "Expected a piece for each of 256 bytes. "
                f"Received: none for {alphabet[self._bytes.index(-1)]!r}"
            )
        super().__init__(names)

    def make(self):
        """The table of ranks, and the function of `_merged`, traced once."""
        wrong = [
            pair
            for pair in self.merges
            if len(pair) != 2 or not {*pair, "".join(pair)} <= set(self.ids)
        ]
        if wrong:
            raise ValueError(
                "Expected merges of two pieces into one of the vocabulary. "
                f"Received: {' '.join(wrong[0])!r} and {len(wrong) - 1} others"
            )
        pairs = np.array([[self.ids[part] for part in pair] for pair in self.merges], "int64")
        pairs = pairs.reshape(-1, 2)
        self._products = np.array([self.ids[a + b] for a, b in self.merges] or [0], "int32")
        self._at_once = _are_ordered(self.merges)
        with tf.init_scope():
            keys = tf.constant(pairs[:, 0] * self.vocabulary_size + pairs[:, 1])
            ranks = tf.range(len(self.merges), dtype=tf.int32)
            entries = tf.lookup.KeyValueTensorInitializer(keys, ranks)
            self._ranks = tf.lookup.StaticHashTable(entries, _NONE)
        signature = [tf.TensorSpec((None,), tf.string)]
        return functools.partial(tf.function(self._merged, signature, autograph=False))

    def settings(self):
        return {"names": self.names, "merges": [list(pair) for pair in self.merges]}

    def shown_names(self):
        texts = (spelled.decode("utf-8", "replace") for spelled in self._spelled)
        return [WORD_MARK + text[1:] if text[:1] == " " else text for text in texts]

    def encode(self, texts):
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        words = _words(texts)
        unique, places = tf.unique(words.flat_values)
        tokens = tf.gather(self.in_graphs(unique), places)
        return words.with_flat_values(tokens).merge_dims(1, 2)

    def joined(self, tokens):
        spelled = tokens.with_values(tf.gather(tf.constant(self._spelled), tokens.values))
        texts = tf.strings.reduce_join(spelled, axis=-1)
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        return tf.strings.strip(texts)

    def _merged(self, words):
        """Words, string (U,), to ragged int32 (U, pieces)."""
        spelled = tf.strings.bytes_split(words)
        values = tf.reshape(tf.io.decode_raw(spelled.values, tf.uint8), (-1,))
        tokens = tf.gather(tf.constant(self._bytes), tf.cast(values, tf.int32))
        owners, count = spelled.value_rowids(), spelled.nrows()

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


def _words(texts):
    """String (B,) to the words of GPT-2's expression, ragged string (B, W).

    Of white space before something else the last character is apart, as `\\s+(?!\\S)` leaves it:
    the first pass cuts texts before it. NUL, where tensorflow-text would stop reading, is escaped
    by signs of its kind, which no pass cuts apart.
    """
    for sign, escaped in _ESCAPES:
        texts = tf.strings.regex_replace(texts, sign, escaped)
    chunks = tf_text.regex_split(texts, _CHUNKS, _CHUNKS)
    words = tf_text.regex_split(chunks.flat_values, _WORDS, _WORDS)
    for sign, escaped in reversed(_ESCAPES):
        words = tf.strings.regex_replace(words, escaped, sign)
    return chunks.with_flat_values(words).merge_dims(1, 2)


def _are_ordered(merges):
    """Whether a piece is made by one merge only, after those of its parts.

    Then all occurrences of a pair in a word may be merged at once: pairs with the new piece come
    later.
    """
    known = set(byte_alphabet())
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
