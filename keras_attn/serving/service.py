"""The captioner as a service, from encoded pictures to captions."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    CAPTION,
    CROSS_WEIGHTS,
    ERROR,
    FEATURES,
    IMAGE,
    LOGITS,
    PAD_ID,
    SCORE,
    TEXT,
    TOKENS,
    WEIGHTS,
)
from keras_attn.decoding import NoRepeatedNgrams, decode
from keras_attn.images.picture_format import MAX_PIXELS, PictureFormat
from keras_attn.serving.answers import (
    answer_of,
    first_reason,
    pieces_of,
    read_again,
    scores_of,
    search_of,
    targets_of,
    too_long,
)
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.precision import cast_once
from keras_attn.serving.warm_up import warm_up_picture


class CaptionService(tf.Module):
    """A captioner with picture decoding, search and detokenization.

    Args:
        model: `Captioner`.
        tokenizer: `Tokenizer`.
        strategy: `Greedy()` or `Beam(...)`; its n best are answered.
        max_length: int. Maximum length of a caption in pieces, end token included.
        fit: "squash" or "crop", as in training; see `PictureFormat`.
        no_repeat_ngram: int ≥ 0. Size of n-grams of pieces that may not repeat in a caption; 0: no
            limit.
        max_pixels: int, width times height of the largest picture that is decoded; see
            `PictureFormat`.
    """

    def __init__(
        self,
        model,
        tokenizer,
        strategy,
        max_length,
        fit="squash",
        no_repeat_ngram=0,
        max_pixels=MAX_PIXELS,
    ):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.strategy, self.max_length = strategy, max_length
        self.picture_format = PictureFormat(*model.image_size, fit, max_pixels)
        self.no_repeat_ngram = no_repeat_ngram
        self.constraints = [NoRepeatedNgrams(no_repeat_ngram)] if no_repeat_ngram else []

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

    @accepts_empty_batch
    def explain(self, image, with_weights=True):
        """Answers with text and the attention of the decoder for each token.

        Args:
            image: string (B,), encoded pictures.
            with_weights: bool. Whether WEIGHTS are in the answer.

        Returns:
            dict as of `caption`, with TOKENS, ANSWER_PIECES, TOKEN_SCORES, WEIGHTS; see
            `contracts`.
        """
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        result = self._decoded(pictures, with_weights)
        answer = answer_of(result, self.tokenizer, reasons)
        if with_weights:
            weights = tf.where(readable[:, None, None, None], result.weights, 0.0)
            answer[WEIGHTS] = self._on_the_grid(weights)
        return answer

    @accepts_empty_batch
    def attention(self, image):
        """Answers with text and every head's attention, from a second pass over the best caption.

        Only for captioners with a Transformer decoder.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict: TEXT string (B,), the best caption; CROSS_WEIGHTS float32 (B, N, H, T, grid
            height, grid width), 0 for padding; ANSWER_PIECES string (B, T); ERROR string (B,).
        """
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        features = self.model.encode(pictures, training=False)
        targets, inputs = read_again(self._decoded({FEATURES: features}).tokens[:, 0], readable)
        batch = {FEATURES: features, TOKENS: inputs[:, None]}
        weights = self.model.cross_weights(batch)[:, 0]
        weights = tf.where((targets != PAD_ID)[:, None, None, :, None], weights, 0.0)
        return {
            TEXT: self.tokenizer.decode(targets),
            CROSS_WEIGHTS: self._on_the_grid(weights),
            ANSWER_PIECES: pieces_of(targets, self.tokenizer, readable),
            ERROR: reasons,
        }

    @accepts_empty_batch
    def score(self, image, caption):
        """Log-probability of given captions, each with its end, given the pictures.

            score_b = Σ_t log p(y_t | y_1 … y_{t−1}, picture_b), the end token included

        The caption is scored in the tokenizer's own pieces, without length normalization.

        Args:
            image: string (B,), encoded pictures.
            caption: string (B,), one caption per picture; it is normalized as in training.

        Returns:
            dict: SCORE float32 (B,), TOKEN_SCORES float32 (B, T), ERROR string (B,). A picture that
            cannot be read, or a caption of more than `max_length` pieces, end included, has scores
            of 0 and its error; the others are unaffected.

        Raises:
            InvalidArgumentError: different numbers of captions and pictures.
        """
        tf.debugging.assert_equal(
            tf.shape(image), tf.shape(caption), "Expected as many captions as pictures."
        )
        pictures, _, reasons = self.picture_format.decode_batch(image)
        inputs, targets, counts = targets_of(caption, self.tokenizer, self.max_length)
        with cast_once(self.model.decoder):
            batch = {IMAGE: pictures, TOKENS: inputs[:, None]}
            logits = self.model(batch, training=False)[LOGITS][:, 0]
        long = too_long("a caption", counts, self.max_length)
        return scores_of(logits, targets, first_reason(reasons, long))

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        image = tf.TensorSpec((None,), tf.string, name=IMAGE)
        caption = tf.TensorSpec((None,), tf.string, name=CAPTION)
        signatures = {
            "serving_default": (self.caption, [image]),
            "explain": (self.explain, [image]),
            "score": (self.score, [image, caption]),
        }
        return (
            {**signatures, "attention": (self.attention, [image])}
            if self._shows_heads()
            else signatures
        )

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        image = {IMAGE: [warm_up_picture()] * count}
        score = {**image, CAPTION: [b"a"] * count}
        signatures = {"serving_default": image, "explain": image, "score": score}
        return {**signatures, "attention": image} if self._shows_heads() else signatures

    def tokenizers(self):
        """dict from folder name to tokenizer."""
        return {"tokenizer": self.tokenizer}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        return {
            **search_of(self.strategy),
            "max_length": self.max_length,
            "image_size": list(self.model.image_size),
            "fit": self.picture_format.fit,
            "max_pixels": self.picture_format.max_pixels,
            "no_repeat_ngram": self.no_repeat_ngram,
        }

    def _decoded(self, context, with_weights=False):
        """`DecodeResult` of pictures, or of a dict with their features."""
        with cast_once(self.model.decoder):
            return decode(
                self.model,
                context,
                self.strategy,
                self.max_length,
                with_weights,
                self.constraints,
            )

    def _on_the_grid(self, weights):
        """(..., S) to (..., grid height, grid width)."""
        shape = tf.concat([tf.shape(weights)[:-1], self.model.grid], axis=0)
        return tf.reshape(weights, shape)

    def _shows_heads(self):
        return hasattr(self.model.decoder, "cross_weights")
