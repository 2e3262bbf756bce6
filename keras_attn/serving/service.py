"""The service: encoded pictures in, captions out. Exporting writes exactly this."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    ANSWER_TOKENS,
    ANSWER_WEIGHTS,
    ERROR,
    SCORE,
    TEXT,
    TOKEN_SCORES,
)
from keras_attn.decoding import decode
from keras_attn.serving.pictures import PictureFormat


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
