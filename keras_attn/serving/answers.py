"""Parts shared by all services: answers from hypotheses, scores of given texts."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    DECODER_WEIGHTS,
    ENCODER_WEIGHTS,
    END_ID,
    END_PIECE,
    ERROR,
    PAD_ID,
    SCORE,
    SOURCE,
    START_ID,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
)
from keras_attn.ops.log_probabilities import log_probabilities


def answer_of(result, tokenizer, reasons):
    """A `DecodeResult` as an answer without weights.

    Args:
        result: `DecodeResult` of B examples.
        tokenizer: `Tokenizer` of the texts.
        reasons: string (B,), why an example could not be read, or ''; its texts are then empty and
            its scores 0.

    Returns:
        dict with TEXT, SCORE, ERROR, TOKENS, ANSWER_PIECES and TOKEN_SCORES.
    """
    valid = (reasons == "")[:, None]
    tokens = tf.where(valid[..., None], result.tokens, PAD_ID)
    return {
        TEXT: tokenizer.decode(tokens),
        SCORE: tf.where(valid, result.scores, 0.0),
        ERROR: reasons,
        TOKENS: tokens,
        ANSWER_PIECES: tokenizer.pieces(tokens),
        TOKEN_SCORES: tf.where(valid[..., None], result.token_scores, 0.0),
    }


def every_weight(model, tokens, targets, readable):
    """All attention weights of a model in a second pass over its answers.

    Args:
        model: `Transformer`, or another whose `attention` returns a named tuple with one or more of
            its fields encoder, decoder and cross.
        tokens: int32 (B, S), of the sources, or (B, S, P).
        targets: int32 (B, T), of the answers, END_ID at their ends.
        readable: bool (B,), False where the source could not be read.

    Returns:
        dict with ENCODER_WEIGHTS, DECODER_WEIGHTS and CROSS_WEIGHTS, as far as the model has them,
        0 for a padding query; and the targets int32 (B, longest), PAD_ID where nothing could be
        read.
    """
    targets, inputs = read_again(targets, readable)
    maps = model.attention({SOURCE: tokens, TOKENS: inputs})
    first = tokens if len(tokens.shape) == 2 else tokens[..., 0]
    asking = {
        "encoder": (ENCODER_WEIGHTS, tf.where(readable[:, None], first, PAD_ID)),
        "decoder": (DECODER_WEIGHTS, targets),
        "cross": (CROSS_WEIGHTS, targets),
    }
    answer = {}
    for name, weights in maps._asdict().items():
        key, own = asking[name]
        real = (own != PAD_ID)[:, None, None, :, None]
        answer[key] = tf.where(real, tf.stack(weights, axis=1), 0.0)
    return answer, targets


def read_again(targets, readable):
    """Answers as decoder inputs of a second pass.

    Args:
        targets: int32 (B, T), of the answers, END_ID at their ends.
        readable: bool (B,), False where the input could not be read.

    Returns:
        targets: int32 (B, longest), PAD_ID where nothing could be read.
        inputs: int32 (B, longest), START_ID first.
    """
    longest = tf.reduce_max(tf.reduce_sum(tf.cast(targets != PAD_ID, tf.int32), axis=1))
    targets = tf.where(readable[:, None], targets[:, :longest], PAD_ID)
    inputs = tf.where(targets == END_ID, PAD_ID, targets)[:, :-1]
    starts = tf.fill((tf.shape(targets)[0], 1), START_ID)
    return targets, tf.concat([starts, inputs], axis=1)


def pieces_of(tokens, tokenizer, readable):
    """string (B, S): the piece of each token, '' for padding and where nothing could be read."""
    pieces = tf.where(tokens == END_ID, END_PIECE, tokenizer.pieces(tokens))
    return tf.where(readable[:, None], pieces, "")


def targets_of(texts, tokenizer, max_length):
    """Given texts as targets of a decoder.

    Args:
        texts: string (B,).
        tokenizer: `Tokenizer`.
        max_length: int. T, to which longer texts are truncated, end included.

    Returns:
        inputs: int32 (B, T), START_ID first.
        targets: int32 (B, T), END_ID last.
        counts: int32 (B,), number of pieces before truncation, end included.
    """
    pieces = tokenizer.encode(texts)
    rows = pieces.nrows(tf.int32)
    targets = tf.concat([pieces[:, : max_length - 1], tf.fill((rows, 1), END_ID)], axis=1)
    targets = targets.to_tensor(PAD_ID, shape=(None, max_length))
    inputs = tf.concat([tf.fill((rows, 1), START_ID), targets[:, :-1]], axis=1)
    return inputs, targets, tf.cast(pieces.row_lengths(), tf.int32) + 1


def scores_of(logits, targets, reasons):
    """Log-probabilities of targets.

    Args:
        logits: float32 (B, T, V).
        targets: int32 (B, T), PAD_ID after the end.
        reasons: string (B,), why an example could not be read, or ''; its scores are then 0.

    Returns:
        dict with SCORE float32 (B,), TOKEN_SCORES float32 (B, T) and ERROR.
    """
    scores = tf.gather(log_probabilities(logits), targets, batch_dims=2)
    real = (targets != PAD_ID) & (reasons == "")[:, None]
    scores = tf.where(real, scores, 0.0)
    return {SCORE: tf.reduce_sum(scores, axis=1), TOKEN_SCORES: scores, ERROR: reasons}


def too_long(name, counts, most, unit="pieces, its end included"):
    """string (B,): error for texts of more than `most` pieces, '' for others.

    Args:
        name: name of the texts in messages, such as "a caption".
        counts: int32 (B,).
        most: int.
        unit: name of what is counted.
    """
    limit = f" {unit} (expected at most {most})"
    reasons = tf.strings.join([f"{name} of ", tf.strings.as_string(counts), limit])
    return tf.where(counts <= most, "", reasons)


def first_reason(*reasons):
    """string (B,): the first nonempty one of several such tensors, elementwise."""
    first_reason = reasons[-1]
    for reason in reversed(reasons[:-1]):
        first_reason = tf.where(reason != "", reason, first_reason)
    return first_reason


def search_of(strategy):
    """A strategy in the metadata of a version: dict of JSON types."""
    return {
        "beam_width": getattr(strategy, "width", 1),
        "length_alpha": getattr(strategy, "alpha", 0.0),
        "n_best": getattr(strategy, "n_best", 1),
    }
