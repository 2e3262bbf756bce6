"""A tokenizer with slots for whole names."""

import functools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import sentencepiece

from keras_attn.contracts import PAD_ID
from keras_attn.lazy_tensorflow import tf
from keras_attn.native_log import hidden_native_log
from keras_attn.text.graph_object import GraphObject
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.untrusted import naming_damage, read_json
from keras_attn.whole_file import made_folder, whole_file

MARKS = 0xF0000
"""Code point of the mark of slot 0; those of the others follow. It is for private use."""
MOST_SLOTS = 2**12
_PRIVATE = rf"\x{{{MARKS:X}}}-\x{{{MARKS + MOST_SLOTS - 1:X}}}"
"""All marks, as a part of a set of a regular expression."""
_LAST = 64
"""Values of the last byte of a mark, of four in UTF-8."""
OTHER = r"\x00-/:-@\[-`{-\x{BF}\x{2000}-\x{206F}\x{3000}-\x{303F}" + _PRIVATE
"""What is no letter and no digit, as a set of a regular expression. Unicode's categories would be a
hundred times slower."""
BETWEEN, NOWHERE = f"[{OTHER}]*", r"[^\s\S]"
"""Regular expressions: what may stand between two words of a name; what is found in no text."""
ACCENTED = {
    "A": "ÀÁÂÃÄÅĀĂĄǍ",
    "C": "ÇĆČ",
    "D": "ĎĐ",
    "E": "ÈÉÊËĒĖĘĚ",
    "G": "ĞĢ",
    "I": "ÌÍÎÏĪĮ",
    "L": "ĹĽŁ",
    "N": "ÑŃŇ",
    "O": "ÒÓÔÕÖØŌŐ",
    "R": "ŔŘ",
    "S": "ŚŞŠȘ",
    "T": "ŢŤȚ",
    "U": "ÙÚÛÜŪŮŰŲ",
    "Y": "ÝŸ",
    "Z": "ŹŻŽ",
}
"""Letters that a text may have without their accents."""
_FILE = "slots.json"


class SlotTokenizer(GraphObject):
    """A tokenizer whose last ids are slots: each stands for a whole name.

    Text is delexicalized with them in the graph: `mark` puts the mark of its slot in place of each
    name, `encode` makes one id of a mark, and `fill` puts names in place of the marks that `decode`
    leaves. A model can thus say a name that it never saw with one token.

    Args:
        tokenizer: `Tokenizer` of everything else.
        slots: int, 0 to 4096.

    Raises:
        ValueError: another number of slots.

    Example:
        >>> tokenizer = SlotTokenizer(Tokenizer.learn(["born in", "Ada Low"], 300), slots=2)
        >>> names = tf.constant([["Arden", "Ben Moss"]])
        >>> tokens = tokenizer.encode(tokenizer.mark(["Ben Moss, born in Arden"], names))
        >>> (tokens.to_tensor()[0, 1] - tokenizer.plain.vocabulary_size).numpy().item()
        1
        >>> tokenizer.fill(tokenizer.decode(tokens), names).numpy().tolist()
        [b'Ben Moss, born in Arden']
    """

    unit = "pieces"

    def __init__(self, tokenizer: Tokenizer, slots: int):
        super().__init__()
        if not 0 <= slots <= MOST_SLOTS:
            raise ValueError(f"Expected slots between 0 and {MOST_SLOTS}. Received: slots={slots}")
        self.plain, self.slots = tokenizer, slots
        self.vocabulary_size = tokenizer.vocabulary_size + slots
        marks = [chr(MARKS + slot) for slot in range(slots)]
        self._marks = np.array(["", *marks], object)
        self._before = np.array(["", *(f"{mark} " for mark in marks)], object)
        self._byte = _first_byte(tokenizer)

    def equals(self, other) -> bool:
        """Whether the other makes the same ids of every text."""
        return other is not None and self.slots == other.slots and self.plain.equals(other.plain)

    @classmethod
    def load(cls, folder) -> "SlotTokenizer":
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no such tokenizer, or a damaged one.
        """
        file = Path(folder, _FILE)
        with naming_damage(f"a tokenizer with slots in {folder}"):
            return cls(Tokenizer.load(folder), read_json(file, "a tokenizer with slots")["slots"])

    def save(self, folder) -> None:
        """Writes the tokenizer and the number of slots into a folder."""
        self.plain.save(made_folder(folder))
        with whole_file(Path(folder, _FILE)) as partial:
            partial.write_text(json.dumps({"slots": self.slots}), encoding="utf-8")

    def normalize(self, texts):
        """See `Tokenizer`; marks of slots, which no text should have, become U+FFFD."""
        texts = self.plain.normalize(texts)
        return tf.strings.regex_replace(texts, f"[{_PRIVATE}]", "\N{REPLACEMENT CHARACTER}")

    def encode(self, texts):
        """String (B,) to ragged int32 (B, pieces), the mark of a slot to its id."""
        pieces = self.plain.encode(texts)
        if not self.slots:
            return pieces
        flat = pieces.flat_values
        count = tf.shape(flat)[0]
        after = tf.pad(flat, [[0, 3]], constant_values=PAD_ID) - self._byte
        first, second, third, last = (after[place : place + count] for place in range(4))
        slots = (third - 0x80) * _LAST + last - 0x80
        begins = (first == 0xF3) & (second == 0xB0) & (slots >= 0) & (slots < self.slots)
        flat = tf.where(begins, self.plain.vocabulary_size + slots, flat)
        inside = tf.pad(begins, [[3, 0]])
        inside = inside[2 : 2 + count] | inside[1 : 1 + count] | inside[:count]
        return tf.ragged.boolean_mask(
            pieces.with_flat_values(flat), pieces.with_flat_values(~inside)
        )

    def with_mark(self, texts, slots):
        """Texts after the mark of a slot and a space: string (B,), of int32 (B,), −1 for none."""
        before = tf.gather(self._before, tf.convert_to_tensor(slots) + 1)
        return tf.strings.join([before, texts])

    def decode(self, tokens):
        """Ids to text as `Tokenizer`, a slot to its mark: int32 (..., T) to string (...)."""
        if isinstance(tokens, tf.RaggedTensor):
            tokens = tokens.to_tensor(PAD_ID)
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        if not self.slots:
            return self.plain.decode(tokens)
        slots = self.slots_of(tokens)
        third, last = 0x80 + slots // _LAST, 0x80 + slots % _LAST
        mark = tf.stack([tf.fill(tf.shape(slots), byte) for byte in (0xF3, 0xB0)], axis=-1)
        mark = self._byte + tf.concat([mark, third[..., None], last[..., None]], axis=-1)
        alone = tf.pad(tokens[..., None], [[0, 0]] * len(tokens.shape) + [[0, 3]])
        spelled = tf.where((slots >= 0)[..., None], mark, alone)
        shape = tf.shape(tokens)
        return self.plain.decode(tf.reshape(spelled, tf.concat([shape[:-1], 4 * shape[-1:]], 0)))

    def pieces(self, tokens):
        """Ids to the pieces they stand for as `Tokenizer`, a slot to its mark."""
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        marks = tf.gather(self._marks, self.slots_of(tokens) + 1)
        return tf.where(marks != "", marks, self.plain.pieces(tokens))

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Strings to lists of ids, as `encode`, without TensorFlow."""
        return [self._with_slots(row) for row in self.plain.encode_all(texts)]

    def _with_slots(self, row):
        """The ids of a row with one id for the four bytes of a mark."""
        ids: list[int] = []
        for token in row:
            ids.append(token)
            mark = [piece - self._byte for piece in ids[-4:]]
            if mark[:2] == [0xF3, 0xB0] and len(mark) == 4:
                slot = (mark[2] - 0x80) * _LAST + mark[3] - 0x80
                if 0 <= slot < self.slots:
                    ids[-4:] = [self.plain.vocabulary_size + slot]
        return ids

    def decode_all(self, tokens) -> list[str]:
        """Rows of ids to strings, as `decode`, without TensorFlow."""
        return self.plain.decode_all(
            [[piece for token in row for piece in self._spelled(int(token))] for row in tokens]
        )

    def _spelled(self, token):
        """The ids of the bytes of a slot's mark; of other ids, themselves."""
        slot = token - self.plain.vocabulary_size
        if not 0 <= slot < self.slots:
            return [token]
        return [self._byte + byte for byte in chr(MARKS + slot).encode()]

    def slots_of(self, tokens):
        """Ids to the slots they stand for, −1 for all others: int32 of any shape."""
        slots = tokens - self.plain.vocabulary_size
        return tf.where((slots >= 0) & (slots < self.slots), slots, -1)

    def mark(self, texts, names):
        """Puts the mark of its slot in place of each name.

        A name is found where the text has its words, in upper and lower case as the name, with any
        punctuation between them; Latin letters may lack their accents, numbers may have commas, and
        what is in parentheses at the end of the name or a decimal that is 0 may be missing. Longer
        names come first.

        Args:
            texts: string (B,), normalized.
            names: string (B, N ≤ slots), '' for a slot without name.

        Returns:
            string (B,).
        """
        texts, names = tf.convert_to_tensor(texts), tf.convert_to_tensor(names)
        if not self.slots:
            return texts
        orders = tf.argsort(-tf.strings.length(names), axis=1, stable=True)
        patterns = tf.gather(_patterns(names), orders, batch_dims=1)
        rewrites = tf.strings.join([r"\1", tf.gather(self._marks, orders + 1), r"\2"])
        return _compiled_replaced()(texts, patterns, rewrites)

    def fill(self, texts, names):
        """Puts names in place of marks: string (B, ...) to string (B, ...).

        A period after a name that ends with one is left out.

        Args:
            texts: string (B, ...).
            names: string (B, N ≤ slots); a mark without name is left out.
        """
        texts = tf.convert_to_tensor(texts)
        if not self.slots:
            return texts
        missing = tf.maximum(self.slots - tf.shape(names)[1], 0)
        names = tf.pad(names, [[0, 0], [0, missing]], constant_values="")
        flat = tf.reshape(texts, (-1,))
        each = tf.size(flat) // tf.maximum(tf.shape(names)[0], 1)
        characters = tf.strings.unicode_split(flat, "UTF-8")
        codes = tf.strings.unicode_decode(flat, "UTF-8", errors="replace")
        slots = codes.flat_values - MARKS
        rows = tf.cast(characters.value_rowids(), tf.int32) // tf.maximum(each, 1)
        is_mark = (slots >= 0) & (slots < self.slots)
        places = tf.stack([rows, tf.where(is_mark, slots, 0)], axis=1)
        named = tf.where(is_mark, tf.gather_nd(names, places), "")
        texts_of = characters.value_rowids()
        ends = tf.strings.regex_full_match(named[:-1], r"(?s).*\.") & (
            texts_of[1:] == texts_of[:-1]
        )
        doubled = tf.pad(ends & (characters.flat_values[1:] == "."), [[1, 0]])[: tf.size(named)]
        filled = tf.where(is_mark, named, tf.where(doubled, "", characters.flat_values))
        joined = tf.strings.reduce_join(characters.with_flat_values(filled), axis=1)
        return tf.reshape(joined, tf.shape(texts))


def _first_byte(tokenizer):
    """Id of the piece of byte 0; those of the others follow."""
    with hidden_native_log():
        processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    ids = [processor.piece_to_id(f"<0x{byte:02X}>") for byte in range(256)]
    if ids != list(range(ids[0], ids[0] + 256)):
        raise ValueError("Expected a SentencePiece model with its bytes in order. Received: others")
    return ids[0]


@functools.cache
def _compiled_replaced():
    return tf.function(_replaced, reduce_retracing=True)


def _replaced(texts, patterns, rewrites):
    """string (B,) with each row's patterns (B, N) replaced in their order."""

    def replaced(text, name):
        pattern, rewrite = name
        for _ in range(2):  # Two names share what stands between them.
            text = tf.raw_ops.RegexReplace(input=text, pattern=pattern, rewrite=rewrite)
        return text

    def all_replaced(row):
        text, *names = row
        return tf.foldl(replaced, tuple(names), text)

    return tf.map_fn(all_replaced, (texts, patterns, rewrites), fn_output_signature=tf.string)


def _patterns(names):
    """Regular expressions that find names; `NOWHERE` for those without letters and digits."""
    outer = tf.strings.regex_replace(names, r"\s*\([^()]*\)$", "")
    head = tf.strings.regex_replace(outer, r"^(\d+)\.0+$", r"\1")
    head = tf.where(_words(head) == "", names, head)
    tail = _words(tf.strings.substr(names, tf.strings.length(head), tf.strings.length(names)))
    closing = tf.where(outer == names, "", r"\)?")
    optional = tf.strings.join(["(?:", BETWEEN, _spelled(tail), closing, ")?"])
    optional = tf.where(tail == "", "", optional)
    body = _spelled(_words(head))
    whole = tf.strings.join([f"(^|[{OTHER}])", body, optional, f"($|[{OTHER}])"])
    return tf.where(body == "", NOWHERE, whole)


def _words(names):
    """Letters and digits of names with spaces between the words."""
    return tf.strings.strip(tf.strings.regex_replace(names, f"[{OTHER}]+", " "))


def _spelled(words):
    """Regular expressions for words with anything between them and commas in numbers."""
    for _ in range(2):  # Digits overlap.
        words = tf.strings.regex_replace(words, r"(\d)(\d)", r"\1,?\2")
    for plain, accented in ACCENTED.items():
        for letter, others in ((plain, accented), (plain.lower(), accented.lower())):
            words = tf.strings.regex_replace(words, f"([{others}])", rf"[{letter}\1]")
    return tf.strings.regex_replace(words, " ", BETWEEN.replace("\\", "\\\\"))
