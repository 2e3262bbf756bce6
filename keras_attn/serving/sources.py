"""Source texts as inputs of a text service, with a reason for each unreadable one."""

import tensorflow as tf

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.serving.answers import first_reason, too_long

MOST_BYTES = 2**16
"""Maximum size of a text in bytes."""
EMPTY = "an empty text"
NOT_UTF8 = "not UTF-8"


def text_reasons(texts):
    """Why texts, string (B,), cannot be tokenized, or '': string (B,)."""
    sizes = tf.strings.length(texts)
    same = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace") == texts
    limit = f" bytes (expected at most {MOST_BYTES})"
    large = tf.strings.join([tf.strings.as_string(sizes), limit])
    return first_reason(tf.where(sizes > MOST_BYTES, large, ""), tf.where(same, "", NOT_UTF8))


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
    reasons = first_reason(unreadable, tf.where(counts == 0, EMPTY, ""), long)
    kept = pieces.with_values(tf.repeat(reasons == "", pieces.row_lengths()))
    ends = tf.fill((pieces.nrows(tf.int32), 1), END_ID)
    tokens = tf.concat([tf.ragged.boolean_mask(pieces, kept), ends], axis=1)
    return tokens.to_tensor(PAD_ID), reasons
