"""Texts as inputs of a service, with a reason for each unreadable one."""

from dataclasses import dataclass
from typing import Any

from keras_attn.contracts import END_ID, END_PIECE, PAD_ID, SOURCE, SOURCE_PIECES
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.readers.reader import Read, Reader
from keras_attn.serving.readers.reasons import EMPTY, first_reason, text_reasons, too_long


@dataclass(frozen=True)
class TextReader(Reader):
    """Texts to pieces, the end last.

    A text that is empty, not UTF-8 or too long cannot be read.

    Attributes:
        tokenizer: `Tokenizer`.
        max_source: int. Maximum length of a text in pieces, end included.
    """

    tokenizer: Any
    max_source: int

    @property
    def examples(self):
        return {SOURCE: b"a"}

    def read(self, source):
        """See `Reader`: of texts, string (B,)."""
        tokens, reasons = read_sources(source, self.tokenizer, self.max_source)
        pieces = pieces_of(tokens, self.tokenizer, reasons == "")
        counts = tf.reduce_sum(tf.cast(tokens != PAD_ID, tf.int32), axis=1)
        counts = tf.where(reasons == "", counts, 0)
        return Read({SOURCE: tokens}, reasons, counts, {SOURCE_PIECES: pieces}, pieces)

    def metadata(self):
        return {"max_source": self.max_source}


def read_sources(texts, tokenizer, max_length):
    """Source texts to tokens for an encoder.

    Args:
        texts: string (B,).
        tokenizer: `Tokenizer`.
        max_length: int. Maximum pieces of a text, end included.

    Returns:
        tokens: int32 (B, S), pieces and END_ID; only END_ID for an unreadable text.
        reasons: string (B,), why it is unreadable, or ''.
    """
    unreadable = text_reasons(texts)
    pieces = tokenizer.encode(tf.where(unreadable == "", texts, ""))
    counts = tf.cast(pieces.row_lengths(), tf.int32)
    long = too_long("a source", counts + 1, max_length)
    given = len(getattr(tokenizer, "prefix_ids", ()))
    reasons = first_reason(unreadable, tf.where(counts == given, EMPTY, ""), long)
    is_readable = pieces.with_values(tf.repeat(reasons == "", pieces.row_lengths()))
    ends = tf.fill((pieces.nrows(tf.int32), 1), END_ID)
    tokens = tf.concat([tf.ragged.boolean_mask(pieces, is_readable), ends], axis=1)
    return tokens.to_tensor(PAD_ID), reasons


def pieces_of(tokens, tokenizer, readable):
    """string (B, S): the piece of each token, '' for padding and where nothing could be read."""
    pieces = tf.where(tokens == END_ID, END_PIECE, tokenizer.pieces(tokens))
    return tf.where(readable[:, None], pieces, "")
