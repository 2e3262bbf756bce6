"""The tokenizer of a model that was trained elsewhere."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from keras_attn.contracts import UNKNOWN_ID
from keras_attn.lazy_tensorflow import tf
from keras_attn.text.graph_object import HAS_GRAPHS
from keras_attn.text.piece_tokenizer import SETTINGS_FILE, SPECIAL_PIECES
from keras_attn.text.sentencepiece_tokenizer import MODEL_FILE, SentencePieceTokenizer
from keras_attn.text.tokenizer import SURROGATE, before_end
from keras_attn.untrusted import naming_damage, read_json

CODE_START, CODE_END = ">>", "<<"
"""Around the code of a language at the beginning of a source of a multilingual Marian model."""
_CODE = f"(?s)^({CODE_START}.*?{CODE_END})"


class PretrainedTokenizer(SentencePieceTokenizer):
    """A SentencePiece model whose pieces have the ids of a checkpoint's vocabulary.

    A piece that the vocabulary lacks becomes UNKNOWN_ID, which is left out of decoded texts; so are
    hidden pieces. Texts are normalized as the model itself prescribes. As in `Tokenizer`, `encode`,
    `decode` and `pieces` are for tensors of TensorFlow, `encode_all` and `decode_all` for lists; of
    two equally probable spellings of a text, such as "0 000" and "000 0" of a unigram model, they
    may take different ones.

    Args:
        model: bytes. A SentencePiece model of any type.
        names: strings; the piece of each id, the four special ids first; "" for an id that no text
            has.
        prefix: pieces that every encoded text begins with, such as that of its language.
        hidden: pieces that are left out of decoded texts, such as those of languages.
        codes: bool. Whether texts may begin with the code of a language that is a piece of its own,
            as in ">>fra<< How are you?".
        never: ids that no answer has.

    Raises:
        ValueError: fewer than five names, one twice, or a prefix or hidden piece that is not among
            them.
    """

    def __init__(
        self,
        model: bytes,
        names: Sequence[str],
        prefix: Sequence[str] = (),
        hidden: Sequence[str] = (),
        codes: bool = False,
        never: Sequence[int] = (),
    ):
        self.names, self.prefix, self.hidden = list(names), tuple(prefix), tuple(hidden)
        self.codes, self.never = codes, tuple(never)
        known = self.names[SPECIAL_PIECES:]
        self._ids = {name: place for place, name in enumerate(known, SPECIAL_PIECES) if name}
        twice = len(self._ids) != sum(map(bool, known))
        if twice or not self._ids:
            raise ValueError(
                f"Expected {SPECIAL_PIECES} special names, and then others, each once. "
                f"Received: {len(self.names)} names{', some of them twice' if twice else ''}"
            )
        if missing := [name for name in (*self.prefix, *self.hidden) if name not in self._ids]:
            raise ValueError(f"Expected pieces of the vocabulary. Received: {missing[:5]}")
        if outside := [token for token in self.never if not 0 <= token < len(self.names)]:
            raise ValueError(f"Expected ids < {len(self.names)}. Received: {outside[:5]}")
        self.prefix_ids = [self._ids[name] for name in self.prefix]
        self._hidden = np.array([not name for name in self.names])
        self._hidden[[*range(SPECIAL_PIECES), *(self._ids[name] for name in self.hidden)]] = True
        super().__init__(model, len(self.names))
        self._table = self._make_table() if HAS_GRAPHS else None

    @property
    def graph_type(self):
        return tf.string

    def _make_table(self):
        """The ids of pieces in TensorFlow's graphs."""
        with tf.init_scope():
            names, ids = list(self._ids), list(self._ids.values())
            entries = tf.lookup.KeyValueTensorInitializer(
                tf.constant(names), tf.constant(ids, tf.int32)
            )
            return tf.lookup.StaticHashTable(entries, UNKNOWN_ID)

    @property
    def _lookup(self):
        if self._table is None:
            self._table = self._make_table()
        return self._table

    @property
    def spaced(self):
        """None: texts are joined as the model prescribes."""
        return None

    @property
    def languages(self) -> list[str]:
        """The codes that a text may begin with."""
        return [name for name in self._ids if _is_code(name)] if self.codes else []

    def equals(self, other) -> bool:
        """Whether the other makes the same ids of every text."""
        return type(other) is type(self) and (self.model, self.settings()) == (
            other.model,
            other.settings(),
        )

    def settings(self):
        return {
            "names": self.names,
            "prefix": list(self.prefix),
            "hidden": list(self.hidden),
            "codes": self.codes,
            "never": list(self.never),
        }

    @classmethod
    def load(cls, folder) -> "PretrainedTokenizer":
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no such tokenizer, or a damaged one.
        """
        folder = Path(folder)
        with naming_damage(f"a tokenizer in {folder}"):
            settings = read_json(folder / SETTINGS_FILE, "a tokenizer")
            return cls((folder / MODEL_FILE).read_bytes(), **settings)

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Strings to lists of ids, without special ids."""
        return [self._encoded(SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)) for text in texts]

    def _encoded(self, text):
        code = []
        if self.codes and text.startswith(CODE_START) and CODE_END in text:
            end = text.index(CODE_END) + len(CODE_END)
            code, text = [text[:end]], text[end:]
        pieces = [*code, *self._processor.encode(text, out_type=str, num_threads=1)]
        return [*self.prefix_ids, *(self._ids.get(piece, UNKNOWN_ID) for piece in pieces)]

    def decode_all(self, tokens) -> list[str]:
        """Rows of ids, lists or an int array (B, T), to strings, as `decode`."""
        rows = (np.asarray(before_end(row), "int32") for row in tokens)
        pieces = ([self.names[token] for token in row[self.is_piece(row)]] for row in rows)
        return [self._processor.decode(row).strip() if row else "" for row in pieces]

    def encode(self, texts):
        """String (B,) to ragged int32 (B, pieces), without special ids."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        parts = []
        if self.codes:
            coded = tf.strings.regex_full_match(texts, f"{_CODE}.*$")
            code = tf.where(coded, tf.strings.regex_replace(texts, f"{_CODE}.*$", r"\1"), "")
            texts = tf.strings.regex_replace(texts, _CODE, "", replace_global=False)
            rows = tf.RaggedTensor.from_row_lengths(
                tf.boolean_mask(code, coded), tf.cast(coded, tf.int64)
            )
            parts.append(rows)
        pieces = tf.concat([*parts, self.in_graphs.tokenize(texts)], axis=1)
        ids = pieces.with_flat_values(self._lookup.lookup(pieces.flat_values))
        if not self.prefix:
            return ids
        prefix = tf.tile(tf.constant([self.prefix_ids]), (ids.nrows(), 1))
        return tf.concat([prefix, ids], axis=1)

    def pieces(self, tokens):
        """Ids to the pieces they stand for, ▁ before a word; '' for special ones.

        Args:
            tokens: int32 (..., T).

        Returns:
            string (..., T).
        """
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        is_piece = (tokens >= SPECIAL_PIECES) & (tokens < self.vocabulary_size)
        return tf.where(is_piece, self._names_of(tf.where(is_piece, tokens, UNKNOWN_ID)), "")

    def joined(self, tokens):
        texts = self.in_graphs.detokenize(tokens.with_values(self._names_of(tokens.values)))
        return tf.strings.strip(texts)

    def is_piece(self, tokens):
        inside = (tokens >= 0) & (tokens < self.vocabulary_size)
        if isinstance(tokens, np.ndarray):
            return inside & ~self._hidden[np.where(inside, tokens, 0)]
        return inside & ~tf.gather(self._hidden, tf.where(inside, tokens, 0))

    def _names_of(self, tokens):
        return tf.gather(tf.constant(self.names), tokens)


def _is_code(name):
    return name.startswith(CODE_START) and name.endswith(CODE_END)
