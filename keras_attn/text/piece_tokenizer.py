"""What tokenizers of pieces of words have in common."""

import abc

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.lazy_tensorflow import tf
from keras_attn.text.graph_object import GraphObject

SETTINGS_FILE = "tokenizer.json"
SPECIAL_PIECES = 4
"""Ids before those of the pieces: PAD_ID, UNKNOWN_ID, START_ID, END_ID."""


class PieceTokenizer(GraphObject):
    """Abstract: text to ids of pieces, and back.

    Attributes:
        unit: plural noun for the pieces.
        vocabulary_size: int. Number of ids.
    """

    unit = "pieces"
    vocabulary_size: int

    @abc.abstractmethod
    def joined(self, tokens):
        """Ragged int32 (B, pieces) to the texts that they spell, string (B,)."""

    @abc.abstractmethod
    def is_piece(self, tokens):
        """bool (...): whether ids, an array of NumPy or TensorFlow, are text in an answer."""

    @abc.abstractmethod
    def settings(self):
        """What `load` needs, of JSON types."""

    def decode(self, tokens):
        """Ids to text; stops at the first END_ID, leaves out special ids and ids there are not.

        Args:
            tokens: int32 (..., T), dense or (for one leading axis) ragged.

        Returns:
            string (...).
        """
        if isinstance(tokens, tf.RaggedTensor):
            tokens = tokens.to_tensor(PAD_ID)
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        shape = tf.shape(tokens)
        rows = tf.reshape(tokens, (-1, shape[-1]))
        before_end = tf.cumsum(tf.cast(rows == END_ID, tf.int32), axis=1) == 0
        pieces = tf.ragged.boolean_mask(rows, before_end & self.is_piece(rows))
        return tf.reshape(self.joined(pieces), shape[:-1])
