"""Sentences as words, and words as pieces, in the graph."""

from keras_attn.contracts import END_ID, PAD_ID, UNKNOWN_ID
from keras_attn.lazy_tensorflow import tf


def split_words(sentences):
    """String (B,) to ragged string (B, W): what stands between ASCII white space."""
    return tf.strings.split(sentences)


def word_pieces(words, tokenizer, most: int):
    """The pieces of each word, encoded by itself.

    Words stay whole whatever the tokenizer takes for a space; one of which it leaves nothing has
    the piece UNKNOWN_ID.

    Args:
        words: ragged string (B, W).
        tokenizer: `Tokenizer`.
        most: int ≥ 1. P, pieces of a word that are kept, the first.

    Returns:
        ragged int32 (B, W + 1, P), PAD_ID after a word's pieces; after the words one of END_ID.
    """
    first = tf.range(most) == 0
    pieces = tokenizer.encode(words.flat_values)[:, :most].to_tensor(PAD_ID, shape=(None, most))
    nothing = pieces[:, :1] == PAD_ID
    pieces = tf.where(nothing, tf.where(first, UNKNOWN_ID, PAD_ID), pieces)
    end = tf.tile(tf.where(first, END_ID, PAD_ID)[None], (words.nrows(), 1))
    ends = tf.RaggedTensor.from_uniform_row_length(end, 1)
    return tf.concat([words.with_flat_values(pieces), ends], axis=1)
