"""The service: encoded pictures in, captions out. Exporting writes exactly this."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    ANSWER_TOKENS,
    ANSWER_WEIGHTS,
    END_ID,
    ERROR,
    IMAGE,
    LOGITS,
    PAD_ID,
    SCORE,
    START_ID,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
)
from keras_attn.decoding import decode
from keras_attn.serving.pictures import PictureFormat
from keras_attn.serving.precision import cast_once


class CaptionService(tf.Module):
    """A captioner with everything around it: picture decoding, search, text.

    Args:
        model: `Captioner`.
        tokenizer: `Tokenizer`.
        strategy: `Greedy()` or `Beam(...)`; its n best are answered.
        max_length: int. Longest caption in pieces, end token included.
        fit: "squash" or "crop", as in training; see `PictureFormat`.
    """

    def __init__(self, model, tokenizer, strategy, max_length, fit="squash"):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.strategy, self.max_length = strategy, max_length
        self.picture_format = PictureFormat(*model.image_size, fit)

    def caption(self, image):
        """Answers with text.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict: TEXT string (B, n), SCORE float32 (B, n), ERROR string (B,). A picture that
            cannot be read has empty texts, scores of 0 and its own reason under ERROR; the others
            are unaffected. An empty batch is answered with empty arrays.
        """
        answer = self.explain(image, with_weights=False)
        return {key: answer[key] for key in (TEXT, SCORE, ERROR)}

    def explain(self, image, with_weights=True):
        """Answers with text and with what the decoder looked at for each token.

        Args:
            image: string (B,), encoded pictures.
            with_weights: bool. Whether ANSWER_WEIGHTS are in the answer.

        Returns:
            dict as of `caption`, with ANSWER_TOKENS, ANSWER_PIECES, TOKEN_SCORES, ANSWER_WEIGHTS;
            see `contracts`.
        """
        count = tf.shape(image)[0]
        # The search wants a row: an empty batch is searched with one that is cut off again.
        image = tf.concat([image, tf.fill([tf.cast(count == 0, tf.int32)], "")], axis=0)
        answer = self._answer(image, with_weights)
        return {key: value[:count] for key, value in answer.items()}

    def _answer(self, image, with_weights):
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        with cast_once(self.model.decoder):
            result = decode(self.model, pictures, self.strategy, self.max_length, with_weights)
        valid = readable[:, None]
        tokens = tf.where(valid[..., None], result.tokens, 0)
        answer = {
            TEXT: self.tokenizer.decode(tokens),
            SCORE: tf.where(valid, result.scores, 0.0),
            ERROR: reasons,
            ANSWER_TOKENS: tokens,
            ANSWER_PIECES: self.tokenizer.pieces(tokens),
            TOKEN_SCORES: tf.where(valid[..., None], result.token_scores, 0.0),
        }
        if with_weights:
            weights = tf.where(valid[..., None, None], result.weights, 0.0)
            shape = tf.concat([tf.shape(weights)[:3], self.model.grid], axis=0)
            answer[ANSWER_WEIGHTS] = tf.reshape(weights, shape)
        return answer

    def score(self, image, caption):
        """Log-probability of given captions, each with its end, given the pictures.

            score_b = Σ_t log p(y_t | y_1 … y_{t−1}, picture_b), the end token included

        The caption counts in the tokenizer's own pieces; nothing is divided by its length.

        Args:
            image: string (B,), encoded pictures.
            caption: string (B,), one caption a picture; it is normalized as in training.

        Returns:
            dict: SCORE float32 (B,), TOKEN_SCORES float32 (B, T), ERROR string (B,). A picture that
            cannot be read, or a caption of more than `max_length` pieces, end included, has scores
            of 0 and its error; the others are unaffected.

        Raises:
            InvalidArgumentError: not as many captions as pictures.
        """
        tf.debugging.assert_equal(
            tf.shape(image), tf.shape(caption), "Expected as many captions as pictures."
        )
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        targets, counts = self._targets(caption)
        starts = tf.fill((tf.shape(targets)[0], 1), START_ID)
        inputs = tf.concat([starts, targets[:, :-1]], axis=1)
        with cast_once(self.model.decoder):
            batch = {IMAGE: pictures, TOKENS: inputs[:, None]}
            logits = self.model(batch, training=False)[LOGITS][:, 0]
        scores = tf.gather(tf.nn.log_softmax(logits), targets, batch_dims=2)
        fits = counts <= self.max_length
        real = (targets != PAD_ID) & (readable & fits)[:, None]
        scores = tf.where(real, scores, 0.0)
        error = tf.where(fits, "", self._too_long(counts))
        return {
            SCORE: tf.reduce_sum(scores, axis=1),
            TOKEN_SCORES: scores,
            ERROR: tf.where(readable, error, reasons),
        }

    def _targets(self, caption):
        """Pieces and end of each caption, int32 (B, T), cut at T; how many there were, (B,)."""
        pieces = self.tokenizer.encode(caption)
        ends = tf.fill((pieces.nrows(tf.int32), 1), END_ID)
        targets = tf.concat([pieces[:, : self.max_length - 1], ends], axis=1)
        targets = targets.to_tensor(PAD_ID, shape=(None, self.max_length))
        return targets, tf.cast(pieces.row_lengths(), tf.int32) + 1

    def _too_long(self, counts):
        found = tf.strings.as_string(counts)
        limit = f" pieces, its end included (expected at most {self.max_length})"
        return tf.strings.join(["a caption of ", found, limit])
