"""Where a keras-hub model looked as it answered, as outputs that can be drawn."""

import math
from typing import Any, NamedTuple

from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    END_PIECE,
    PROMPT_WEIGHTS,
    SOURCE_PIECES,
    START_PIECE,
    WEIGHTS,
    WORD_MARK,
)
from keras_attn.decoding.hub_attention import hub_attention
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.views import SECOND_PASS_WORDS, SOURCE
from keras_attn.text.byte_pairs import byte_alphabet
from keras_attn.viz.declared import Heads, Matrix, PictureMap

HUB_TEXT_VIEWS = (
    Matrix(WEIGHTS, SOURCE, SECOND_PASS_WORDS, name="Where each word looked"),
    Heads(CROSS_WEIGHTS, SOURCE, SECOND_PASS_WORDS, name="Each layer and head", heads="cross"),
)
HUB_PICTURE_VIEWS = (
    PictureMap(WEIGHTS, SECOND_PASS_WORDS, name="Where each word looked"),
    PictureMap(CROSS_WEIGHTS, SECOND_PASS_WORDS, name="Where each head looked", heads="cross"),
    Heads(PROMPT_WEIGHTS, SOURCE, SECOND_PASS_WORDS, name="Answer to prompt", heads="prompt"),
)


class AnswerMasks(NamedTuple):
    """Which tokens of sequences (B, T) are whose, bool (B, T): given ones, and the answer's."""

    given: Any
    written: Any


class HubPieces:
    """The pieces of a keras-hub tokenizer as this project shows them: ▁ before a word.

    Args:
        tokenizer: of keras-hub.
        stops: ids that end an answer.
    """

    def __init__(self, tokenizer, stops):
        names = [tokenizer.id_to_token(place) for place in range(tokenizer.vocabulary_size())]
        if hasattr(tokenizer, "merges"):
            names = _read_bytes(names)
        self.names, self.stops = names, list(stops)
        self.start = getattr(tokenizer, "start_token_id", None)

    def of(self, tokens, shown):
        """string (B, T): the pieces of tokens (B, T) where they are shown, '' elsewhere."""
        pieces = tf.gather(tf.constant(self.names), tokens)
        for token in self.stops:
            pieces = tf.where(tokens == token, END_PIECE, pieces)
        return tf.where(shown, pieces, "")

    def of_source(self, tokens, shown):
        """The same of tokens that may begin with the start, which may be an end elsewhere."""
        pieces = self.of(tokens, shown)
        if self.start is None:
            return pieces
        is_start = (tokens == self.start) & (tf.range(tf.shape(tokens)[1]) == 0) & shown
        return tf.where(is_start, START_PIECE, pieces)


def attention_answers(task, inputs, tokens, masks: AnswerMasks, pieces: HubPieces, readable):
    """Where a model looked, layer by layer, as it said its answers.

    Args:
        task: of keras-hub.
        inputs: dict of tensors, what its search began with.
        tokens: int (B, T), what was given, and the answers.
        masks: `AnswerMasks` of these; what is given comes first.
        pieces: `HubPieces`.
        readable: bool (B,); others have no pieces and weights of 0.

    Returns:
        dict with ANSWER_PIECES string (B, T), of the answers alone; SOURCE_PIECES string (B, S), of
        the text that was read; CROSS_WEIGHTS float32 (B, N, H, T, S), WEIGHTS float32 (B, T, S),
        the last layer's mean over its heads. If pictures are read, both are of their places, (…,
        height, width), and PROMPT_WEIGHTS are as CROSS_WEIGHTS of texts.
    """
    written = masks.written & readable[:, None]
    has_encoder, part = "encoder_token_ids" in inputs, ""
    if has_encoder:
        part = "decoder_"
    there = tf.cast(masks.given | masks.written, inputs[f"{part}padding_mask"].dtype)
    read = {**inputs, f"{part}token_ids": tokens, f"{part}padding_mask": there}
    if "response_mask" in inputs:
        read["response_mask"] = tf.cast(masks.written, inputs["response_mask"].dtype)
    found = hub_attention(task, read)
    order, is_there = _places(written)
    weights = _rows(found.cross if has_encoder else found.decoder, order, is_there)
    answers = {ANSWER_PIECES: pieces.of(tf.gather(tokens, order, batch_dims=1), is_there)}
    source, shown = tokens, masks.given & readable[:, None]
    if has_encoder:
        source = inputs["encoder_token_ids"]
        shown = tf.cast(inputs["encoder_padding_mask"], tf.bool) & readable[:, None]
    answers[SOURCE_PIECES] = pieces.of_source(source, shown)
    pictured = getattr(task.backbone, "image_sequence_length", 0)
    of_text = tf.where(shown[:, None, None, None], weights[..., pictured:], 0.0)
    if not pictured:
        return {**answers, CROSS_WEIGHTS: of_text, WEIGHTS: _mean(of_text)}
    side = math.isqrt(pictured)
    grid = weights[..., :pictured]
    grid = tf.reshape(grid, tf.concat([tf.shape(grid)[:-1], (side, side)], axis=0))
    return {**answers, CROSS_WEIGHTS: grid, WEIGHTS: _mean(grid), PROMPT_WEIGHTS: of_text}


def _places(written):
    """int32 (B, T), the places of an answer's tokens, and bool (B, T), whether there are so many;
    of bool (B, T) with the answer in a row."""
    length = tf.shape(written)[1]
    first = tf.argmax(written, axis=1, output_type=tf.int32)[:, None]
    places = tf.minimum(first + tf.range(length), length - 1)
    counts = tf.reduce_sum(tf.cast(written, tf.int32), axis=1)[:, None]
    return places, tf.range(length) < counts


def _rows(weights, order, is_there):
    """Weights (B, N, H, T, S) of the tokens at these places, each as the one before was read."""
    before = tf.shape(weights)[3] - tf.shape(order)[1] - 1
    rows = tf.gather(weights, tf.maximum(order + before, 0), axis=3, batch_dims=1)
    return tf.where(is_there[:, None, None, :, None], rows, 0.0)


def _mean(weights):
    """The last layer's mean over heads."""
    return tf.reduce_mean(weights[:, -1], axis=1)


def _read_bytes(names):
    """Names of byte-level pieces as texts."""
    values = {sign: byte for byte, sign in enumerate(byte_alphabet())}
    texts = []
    for name in names:
        text = bytes(values[sign] for sign in name if sign in values).decode("utf-8", "replace")
        texts.append(WORD_MARK + text[1:] if text.startswith(" ") else text)
    return texts
