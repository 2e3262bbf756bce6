"""The service of a language model: the beginning of a sentence in, the next word out."""

import tensorflow as tf

from keras_attn.contracts import (
    END_ID,
    END_PIECE,
    ERROR,
    LABEL_SCORES,
    LABELS,
    PAD_ID,
    SOURCE_PIECES,
    START_ID,
    TOKEN_SCORES,
    UNKNOWN_ID,
    WEIGHTS,
)
from keras_attn.serving.function_service import FunctionService
from keras_attn.serving.generation_service import token_scores
from keras_attn.serving.readers.reasons import EMPTY, first_reason, text_reasons, too_long
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS
from keras_attn.viz.declared import Matrix, Strings
from keras_attn_pipelines.data.vocabulary import WORDS

SLOTS = "slots"
"""Answer key: string (B, N), a name for each slot, its domain and its number."""
UNKNOWN_PIECE = "<unk>"
SERVED = (LABELS, LABEL_SCORES, TOKEN_SCORES, SOURCE_PIECES)


def next_word_service(model, words, most: int, n_best: int) -> FunctionService:
    """A `ProgressiveLanguageModel` as a service.

    Args:
        model: `ProgressiveLanguageModel`.
        words: `SymbolTable` of its words.
        most: maximum number of words of a sentence, its end included.
        n_best: number of next words returned; all of them if there are fewer.

    Raises:
        ValueError: n_best < 1.
    """
    if n_best < 1:
        raise ValueError(f"Expected n_best >= 1. Received: n_best={n_best}")
    n_best = min(n_best, len(words.names))
    reader = _Reader(model, words, most, n_best)
    views = [Matrix(WEIGHTS, Strings(SLOTS, "slots"), Strings(SOURCE_PIECES, "words"))]
    notes = {"n_best": n_best}
    return FunctionService(model, {WORDS: words}, reader.explain, SERVED, views, notes=notes)


class _Reader:
    """What a service's function needs."""

    def __init__(self, model, words, most, n_best):
        self.model, self.words, self.most, self.n_best = model, words, most, n_best
        slots = enumerate(model.cell.bank.slots, 1)
        self.slots = [f"{domain}.{i + 1}" for domain, count in slots for i in range(count)]

    def explain(self, source):
        """Next words, scores of the source's own words, and where each prediction looked."""
        bad = text_reasons(source)
        tokens = self.words.encode(plain_words(tf.where(bad == "", source, "")))
        counts = tf.cast(tokens.row_lengths(), tf.int32)
        long = too_long("a sentence", counts + 1, self.most, "words, its end included")
        reasons = first_reason(bad, tf.where(counts == 0, EMPTY, ""), long)
        readable = reasons == ""
        kept = tokens.with_values(tf.repeat(readable, tokens.row_lengths()))
        tokens = tf.ragged.boolean_mask(tokens, kept)
        row = tf.fill((tokens.nrows(tf.int32), 1), END_ID)
        targets = tf.concat([tokens, row], axis=1).to_tensor(PAD_ID)
        inputs = tf.concat([tf.fill(tf.shape(row), START_ID), tokens], axis=1).to_tensor(PAD_ID)
        logits = self.model(inputs, training=False)
        last = tf.cast(tokens.row_lengths(), tf.int32)
        shares = tf.nn.softmax(tf.gather(logits, last, batch_dims=1))[:, SPECIAL_SYMBOLS:]
        shares, ids = tf.math.top_k(shares, self.n_best)
        valid = readable[:, None]
        pieces = tf.where(targets == UNKNOWN_ID, UNKNOWN_PIECE, self.words.pieces(targets))
        pieces = tf.where(targets == END_ID, END_PIECE, pieces)
        labels = self.words.pieces(ids + SPECIAL_SYMBOLS)
        return {
            LABELS: tf.where(valid, labels, ""),
            LABEL_SCORES: tf.where(valid, shares, 0.0),
            TOKEN_SCORES: token_scores(logits, targets, reasons),
            SOURCE_PIECES: tf.where(valid, pieces, ""),
            WEIGHTS: tf.where(valid[:, :, None], self.model.slot_weights(inputs), 0.0),
            SLOTS: tf.tile(tf.constant([self.slots]), [tf.shape(source)[0], 1]),
            ERROR: reasons,
        }
