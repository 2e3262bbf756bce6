"""Sentences as inputs of a parser, with a reason for each unreadable one."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_attn.contracts import END_PIECE, PAD_ID
from keras_attn.serving.answers import first_reason, too_long
from keras_attn.serving.sources import EMPTY, text_reasons
from keras_attn.text.words import split_words, word_pieces


class Sentences(NamedTuple):
    """B sentences; unreadable ones have no words.

    Attributes:
        words: string (B, S), the words, END_PIECE, then ''.
        counts: int32 (B,), words of each.
        tokens: int32 (B, S, P), the pieces of the words, then of the end; PAD_ID after each.
        reasons: string (B,), why a sentence is unreadable, or ''.
    """

    words: Any
    counts: Any
    tokens: Any
    reasons: Any

    @property
    def readable(self):
        """bool (B,)."""
        return self.reasons == ""

    def present(self):
        """bool (B, S): whether the sentence has a word there."""
        return tf.sequence_mask(self.counts, tf.shape(self.words)[1])

    def shown(self):
        """string (B, S): the words, '' where nothing could be read."""
        return tf.where(self.readable[:, None], self.words, "")


def read_sentences(texts, tokenizer, most_words, most_pieces) -> Sentences:
    """Words between ASCII white space, and their pieces; round brackets become -LRB- and -RRB-.

    Args:
        texts: string (B,).
        tokenizer: `Tokenizer` of the words.
        most_words: int. Maximum words of a sentence.
        most_pieces: int. P, leading pieces read per word.
    """
    unreadable = text_reasons(texts)
    texts = tf.where(unreadable == "", texts, "")
    texts = tf.strings.regex_replace(texts, r"\(", "-LRB-")
    texts = tf.strings.regex_replace(texts, r"\)", "-RRB-")
    words = split_words(texts)
    counts = tf.cast(words.row_lengths(), tf.int32)
    long = too_long("a sentence", counts, most_words, "words")
    reasons = first_reason(unreadable, tf.where(counts == 0, EMPTY, ""), long)
    kept = words.with_values(tf.repeat(reasons == "", words.row_lengths()))
    words = tf.ragged.boolean_mask(words, kept)
    ends = tf.fill((tf.shape(texts)[0], 1), END_PIECE)
    return Sentences(
        tf.concat([words, ends], axis=1).to_tensor(""),
        tf.where(reasons == "", counts, 0),
        word_pieces(words, tokenizer, most_pieces).to_tensor(PAD_ID),
        reasons,
    )
