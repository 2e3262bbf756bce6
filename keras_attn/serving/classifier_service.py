"""The service of a classifier: encoded pictures in, labels out."""

import tensorflow as tf

from keras_attn.contracts import ENCODER_WEIGHTS, IMAGE, WEIGHTS
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.ops.rollout import attention_rollout
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.label_service import LabelService


class ClassifierService(LabelService):
    """An `ImageClassifier` as a service, see `LabelService`.

    With a `VisionTransformer` encoder, `explain` and `attention` are exported too.
    """

    @accepts_empty_batch
    def classify(self, image):
        """Answers with labels.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n), ERROR string (B,). A picture
            that cannot be read has empty labels, scores of 0 and its own reason under ERROR; the
            others are unaffected. An empty batch is answered with empty arrays.
        """
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        return self._best(self.model(pictures, training=False), readable, reasons)

    def explain(self, image):
        """Answers with labels and the attention rollout over the patches.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict as of `classify`, with WEIGHTS float32 (B, grid height, grid width): the
            rollout of the class token, or the mean of the patches' (see `attention_rollout`); 0
            where a picture could not be read.
        """
        answer = self.attention(image)
        del answer[ENCODER_WEIGHTS]
        return answer

    @accepts_empty_batch
    def attention(self, image):
        """Answers with labels and with every attention weight.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict as of `explain`, with ENCODER_WEIGHTS float32 (B, N, H, S, S).
        """
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        logits, weights = self.model.attention(pictures, training=False)
        answer = self._best(logits, readable, reasons)
        shares = self._shares(attention_rollout(weights))
        answer[WEIGHTS] = tf.where(readable[:, None, None], shares, 0.0)
        every = tf.stack(weights, axis=1)
        answer[ENCODER_WEIGHTS] = tf.where(readable[:, None, None, None, None], every, 0.0)
        return answer

    def signatures(self):
        """See `LabelService`."""
        image = [tf.TensorSpec((None,), tf.string, name=IMAGE)]
        signatures = {"serving_default": (self.classify, image)}
        if self._shows_patches():
            signatures |= {"explain": (self.explain, image), "attention": (self.attention, image)}
        return signatures

    def _shares(self, rollout):
        """Rollout (B, S, S) to each patch's share in the picture's vector, as a grid."""
        size = (None, self.picture_format.height, self.picture_format.width, 3)
        _, height, width, _ = self.model.encoder.compute_output_shape(size)
        has_token = rollout.shape[-1] > height * width
        seen = rollout[:, 0, 1:] if has_token else tf.reduce_mean(rollout, axis=1)
        return tf.reshape(seen, (-1, height, width))

    def _shows_patches(self):
        return isinstance(self.model.encoder, VisionTransformer)
