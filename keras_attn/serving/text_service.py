"""The text-to-text model as a service."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    ERROR,
    LOGITS,
    PAD_ID,
    SCORE,
    SOURCE,
    SOURCE_PIECES,
    TARGET,
    TEXT,
    TOKENS,
    WEIGHTS,
)
from keras_attn.decoding import decode
from keras_attn.decoding.maximum_length import MaximumLength
from keras_attn.serving.answers import (
    answer_of,
    every_weight,
    first_reason,
    pieces_of,
    scores_of,
    search_of,
    targets_of,
    too_long,
)
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.sources import read_sources, text_reasons

LENGTH_FACTOR, LENGTH_EXTRA = 2, 16
"""An answer has at most LENGTH_FACTOR times the source's pieces and LENGTH_EXTRA more."""


class TextService(tf.Module):
    """A text-to-text model with tokenizers and search.

    An answer has at most 2 S + 16 pieces, S being the source's with its end, and never more than
    `max_length`: longer ones are ended there.

    Args:
        model: `Transformer`, or any `Stepper` that takes a dict with SOURCE and, called, one with
            TOKENS too. If it has `attention`, like `Transformer`, so has the service; see
            `every_weight`. If it has `shown_weights`, it returns WEIGHTS, and the service `align`.
        tokenizer: `Tokenizer` of the targets.
        strategy: `Greedy()` or `Beam(...)`; its n best are answered.
        max_length: int. Maximum length of a target in pieces, end included.
        max_source: int. Maximum length of a source in pieces, end included.
        source_tokenizer: `Tokenizer` of the sources; None if it is the same.
    """

    def __init__(self, model, tokenizer, strategy, max_length, max_source, source_tokenizer=None):
        super().__init__()
        self.model, self.tokenizer, self.strategy = model, tokenizer, strategy
        self.source_tokenizer = source_tokenizer or tokenizer
        self.max_length, self.max_source = max_length, max_source

    def answer(self, source):
        """Answers with text.

        Args:
            source: string (B,), UTF-8.

        Returns:
            dict: TEXT string (B, n), SCORE float32 (B, n), ERROR string (B,). A source that is
            empty, not UTF-8 or too long has empty texts, scores of 0 and its own reason under
            ERROR; the others are unaffected. An empty batch is answered with empty arrays.
        """
        answer = self.explain(source, with_weights=False)
        return {key: answer[key] for key in (TEXT, SCORE, ERROR)}

    @accepts_empty_batch
    def explain(self, source, with_weights=True):
        """Answers with text and the attention of the decoder for each token.

        Args:
            source: string (B,), UTF-8.
            with_weights: bool. Whether WEIGHTS are in the answer.

        Returns:
            dict as of `answer`, with SOURCE_PIECES, TOKENS, ANSWER_PIECES, TOKEN_SCORES and
            WEIGHTS float32 (B, n, T, S); see `contracts`.
        """
        tokens, reasons = read_sources(source, self.source_tokenizer, self.max_source)
        result = self._decoded(tokens, reasons, with_weights)
        answer = answer_of(result, self.tokenizer, reasons)
        readable = reasons == ""
        answer[SOURCE_PIECES] = pieces_of(tokens, self.source_tokenizer, readable)
        if with_weights:
            weights = tf.where(readable[:, None, None, None], result.weights, 0.0)
            answer[WEIGHTS] = weights
        return answer

    @accepts_empty_batch
    def score(self, source, target):
        """Log-probability of given targets, each with its end, given the sources.

            score_b = Σ_t log p(y_t | y_1 … y_{t−1}, source_b), the end token included

        The target is scored in the tokenizer's own pieces, without length normalization. An empty
        target consists of its end only.

        Args:
            source: string (B,).
            target: string (B,), one target per source; it is normalized as in training.

        Returns:
            dict: SCORE float32 (B,), TOKEN_SCORES float32 (B, T), ERROR string (B,). A source or
            target that cannot be read has scores of 0 and its error; the others are unaffected.

        Raises:
            InvalidArgumentError: different numbers of targets and sources.
        """
        tokens, inputs, targets, reasons = self._read_pairs(source, target)
        logits = self.model({SOURCE: tokens, TOKENS: inputs}, training=False)[LOGITS]
        return scores_of(logits, targets, reasons)

    @accepts_empty_batch
    def align(self, source, target):
        """Attention to the sources while the model reads given targets.

        Args:
            source: string (B,).
            target: string (B,), one target per source; it is normalized as in training.

        Returns:
            dict: SOURCE_PIECES string (B, S), ANSWER_PIECES string (B, T), CROSS_WEIGHTS float32
            (B, N, H, T, S), of one layer and head where the model's attention has no more; 0 after
            the end. ERROR string (B,): a source or target that cannot be read has no pieces and
            weights of 0; the others are unaffected.

        Raises:
            InvalidArgumentError: different numbers of targets and sources.
        """
        tokens, inputs, targets, reasons = self._read_pairs(source, target)
        readable = reasons == ""
        targets = tf.where(readable[:, None], targets, PAD_ID)
        lengths = tf.reduce_sum(tf.cast(targets != PAD_ID, tf.int32), axis=1)
        longest = tf.maximum(tf.reduce_max(lengths), 1)  # A model needs one step.
        targets, batch = targets[:, :longest], {SOURCE: tokens, TOKENS: inputs[:, :longest]}
        cross = getattr(self.model.attention(batch), "cross", None) if self._shows_heads() else None
        if cross is None:
            cross = [self.model(batch, training=False)[WEIGHTS][:, None]]
        weights = tf.stack(cross, axis=1)
        return {
            CROSS_WEIGHTS: tf.where((targets != PAD_ID)[:, None, None, :, None], weights, 0.0),
            SOURCE_PIECES: pieces_of(tokens, self.source_tokenizer, readable),
            ANSWER_PIECES: pieces_of(targets, self.tokenizer, readable),
            ERROR: reasons,
        }

    @accepts_empty_batch
    def attention(self, source):
        """Answers with text and all attention weights, from a second pass over the best answer.

        Args:
            source: string (B,), UTF-8.

        Returns:
            dict: TEXT string (B,), the best answer; ENCODER_WEIGHTS, DECODER_WEIGHTS and
            CROSS_WEIGHTS, see `contracts`, 0 for a padding query, as far as the model has them;
            SOURCE_PIECES string (B, S), ANSWER_PIECES string (B, T), ERROR string (B,).
        """
        tokens, reasons = read_sources(source, self.source_tokenizer, self.max_source)
        readable = reasons == ""
        targets = self._decoded(tokens, reasons, with_weights=False).tokens[:, 0]
        answer, targets = every_weight(self.model, tokens, targets, readable)
        answer[TEXT] = self.tokenizer.decode(targets)
        answer[SOURCE_PIECES] = pieces_of(tokens, self.source_tokenizer, readable)
        answer[ANSWER_PIECES] = pieces_of(targets, self.tokenizer, readable)
        answer[ERROR] = reasons
        return answer

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        source = tf.TensorSpec((None,), tf.string, name=SOURCE)
        target = tf.TensorSpec((None,), tf.string, name=TARGET)
        signatures = {
            "serving_default": (self.answer, [source]),
            "explain": (self.explain, [source]),
            "score": (self.score, [source, target]),
        }
        if self._shows_heads():
            signatures["attention"] = (self.attention, [source])
        if self._aligns():
            signatures["align"] = (self.align, [source, target])
        return signatures

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        source = {SOURCE: [b"a"] * count}
        pair = {**source, TARGET: [b"a"] * count}
        takes_pairs = ("score", "align")
        return {name: pair if name in takes_pairs else source for name in self.signatures()}

    def tokenizers(self):
        """dict from folder name to tokenizer."""
        if self.source_tokenizer is self.tokenizer:
            return {"tokenizer": self.tokenizer}
        return {"tokenizer": self.tokenizer, "source_tokenizer": self.source_tokenizer}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        sizes = {"max_length": self.max_length, "max_source": self.max_source}
        return {**search_of(self.strategy), **sizes}

    def _shows_heads(self):
        return hasattr(self.model, "attention")

    def _aligns(self):
        """Whether the model, called with targets, returns its attention to the sources."""
        return hasattr(self.model, "shown_weights")

    def _read_pairs(self, source, target):
        """Sources (B, S), inputs and targets of the decoder (B, T), and reasons (B,)."""
        tf.debugging.assert_equal(
            tf.shape(source), tf.shape(target), "Expected as many targets as sources."
        )
        tokens, reasons = read_sources(source, self.source_tokenizer, self.max_source)
        unreadable = text_reasons(target)
        target = tf.where(unreadable == "", target, "")
        inputs, targets, counts = targets_of(target, self.tokenizer, self.max_length)
        unreadable = tf.where(unreadable != "", tf.strings.join(["the target: ", unreadable]), "")
        long = too_long("a target", counts, self.max_length)
        return tokens, inputs, targets, first_reason(reasons, unreadable, long)

    def _decoded(self, tokens, reasons, with_weights):
        """`DecodeResult` of sources, int32 (B, S)."""
        most = tf.where(reasons == "", most_pieces(tokens, self.max_length), 1)
        longest, limits = tf.reduce_max(most), [MaximumLength(most)]
        context = {SOURCE: tokens}
        return decode(self.model, context, self.strategy, longest, with_weights, limits)


def most_pieces(tokens, max_length):
    """Maximum pieces of the answer to each source.

    Args:
        tokens: int32 (B, S), of sources.
        max_length: int. Maximum length of a target in pieces, end included.

    Returns:
        int32 (B,).
    """
    counts = tf.reduce_sum(tf.cast(tokens != PAD_ID, tf.int32), axis=1)
    return tf.minimum(LENGTH_FACTOR * counts + LENGTH_EXTRA, max_length)
