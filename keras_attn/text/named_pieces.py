"""Tokenizers whose vocabulary is a list of names, as of checkpoints without SentencePiece."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from keras_attn.contracts import UNKNOWN_ID
from keras_attn.lazy_tensorflow import tf
from keras_attn.text.graph_object import HAS_GRAPHS
from keras_attn.text.piece_tokenizer import SETTINGS_FILE, SPECIAL_PIECES, PieceTokenizer
from keras_attn.text.tokenizer import SURROGATE
from keras_attn.untrusted import naming_damage, read_json
from keras_attn.whole_file import made_folder, whole_file


class NamedPieces(PieceTokenizer):
    """Abstract: text to ids of named pieces, and back.

    Subclasses set what `shown_names` needs before they call this constructor.

    Args:
        names: strings; the piece of each id, the four special ids first; "" for an id that no text
            has.

    Attributes:
        ids: dict of piece to id.

    Raises:
        ValueError: fewer than five names, or one twice.
    """

    spaced = None
    """Texts are joined as the pieces prescribe."""

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self.names = list(names)
        known = self.names[SPECIAL_PIECES:]
        self.ids = {name: place for place, name in enumerate(known, SPECIAL_PIECES) if name}
        twice = len(self.ids) != sum(map(bool, known))
        if twice or not self.ids:
            raise ValueError(
                f"Expected {SPECIAL_PIECES} special names, and then others, each once. "
                f"Received: {len(self.names)} names{', some of them twice' if twice else ''}"
            )
        self.vocabulary_size = len(self.names)
        self._is_text = np.array([not name for name in self.names]) == 0
        self._is_text[:SPECIAL_PIECES] = False
        self._made = self.make() if HAS_GRAPHS else None

    def make(self):
        """What `encode` needs in TensorFlow's graphs."""
        raise NotImplementedError

    def shown_names(self) -> list[str]:
        """What `pieces` shows for each id, ▁ before a word; "" for those that no text has."""
        raise NotImplementedError

    def encode(self, texts):
        """String (B,) to ragged int32 (B, pieces), without special ids."""
        raise NotImplementedError

    @property
    def in_graphs(self):
        """What `make` returned, once."""
        if self._made is None:
            self._made = self.make()
        return self._made

    def equals(self, other) -> bool:
        """Whether the other makes the same ids of every text."""
        return type(other) is type(self) and self.settings() == other.settings()

    def save(self, folder) -> None:
        """Writes the settings, which are all of it, into a folder."""
        with whole_file(made_folder(folder) / SETTINGS_FILE) as partial:
            partial.write_text(json.dumps(self.settings()), encoding="utf-8")

    @classmethod
    def load(cls, folder):
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no such tokenizer, or a damaged one.
        """
        with naming_damage(f"a tokenizer in {folder}"):
            return cls(**read_json(Path(folder) / SETTINGS_FILE, "a tokenizer"))

    def is_piece(self, tokens):
        inside = (tokens >= 0) & (tokens < self.vocabulary_size)
        if isinstance(tokens, np.ndarray):
            return inside & self._is_text[np.where(inside, tokens, 0)]
        return inside & tf.gather(self._is_text, tf.where(inside, tokens, 0))

    def pieces(self, tokens):
        """Ids to the pieces they stand for, ▁ before a word; '' for special ones.

        Args:
            tokens: int32 (..., T).

        Returns:
            string (..., T).
        """
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        is_piece = self.is_piece(tokens)
        names = tf.constant(self.shown_names())
        return tf.where(is_piece, tf.gather(names, tf.where(is_piece, tokens, UNKNOWN_ID)), "")

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Strings to lists of ids, without special ids; needs TensorFlow."""
        encoded = [SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode() for text in texts]
        return self.encode(tf.constant(encoded, tf.string, (len(encoded),))).to_list()

    def decode_all(self, tokens) -> list[str]:
        """Rows of ids, lists or an int array (B, T), to strings, as `decode`; needs TensorFlow."""
        rows = tf.ragged.constant([list(map(int, row)) for row in tokens], tf.int32, 1)
        return [text.decode() for text in self.decode(rows).numpy()]

    def normalize_all(self, texts: Iterable[str]) -> list[str]:
        """Strings as encoding leaves them."""
        return self.decode_all(self.encode_all(texts))
