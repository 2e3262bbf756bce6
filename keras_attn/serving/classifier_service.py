"""The service of a classifier: encoded pictures in, labels out."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_WEIGHTS,
    ENCODER_WEIGHTS,
    ERROR,
    IMAGE,
    LABEL_SCORES,
    LABELS,
)
from keras_attn.models.vision_transformer import VisionTransformer
from keras_attn.ops.rollout import attention_rollout
from keras_attn.serving.answers import at_least_one
from keras_attn.serving.pictures import PictureFormat
from keras_attn.serving.warm_up import warm_up_picture


class ClassifierService(tf.Module):
    """A classifier with everything around it: picture decoding and labels.

    Where its encoder is a `VisionTransformer`, `explain` and `attention` are exported too.

    Args:
        model: `ImageClassifier`.
        labels: `LabelTable` of its classes.
        picture_format: `PictureFormat`, as in training.
        n_best: int > 0. Labels that are answered, the most probable first; all of them where there
            are fewer.

    Raises:
        ValueError: n_best < 1, or not as many labels as classes.
    """

    def __init__(self, model, labels, picture_format: PictureFormat, n_best=1):
        super().__init__()
        if n_best < 1:
            raise ValueError(f"Expected n_best >= 1. Received: n_best={n_best}")
        if labels.vocabulary_size != model.classes:
            raise ValueError(
                f"Expected {model.classes} labels, as the model has classes. "
                f"Received: {labels.vocabulary_size}"
            )
        self.model, self.labels, self.picture_format = model, labels, picture_format
        self.n_best = min(n_best, labels.vocabulary_size)

    def classify(self, image):
        """Answers with labels.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n), ERROR string (B,). A picture
            that cannot be read has empty labels, scores of 0 and its own reason under ERROR; the
            others are unaffected. An empty batch is answered with empty arrays.
        """
        image, count = at_least_one(image)
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        answer = self._best(self.model(pictures, training=False), readable, reasons)
        return {key: value[:count] for key, value in answer.items()}

    def explain(self, image):
        """Answers with labels and with how much of each patch is in what they were read from.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict as of `classify`, with ANSWER_WEIGHTS float32 (B, grid height, grid width): the
            rollout of the class token, or the mean of the patches' (see `attention_rollout`); 0
            where a picture could not be read.
        """
        answer = self.attention(image)
        del answer[ENCODER_WEIGHTS]
        return answer

    def attention(self, image):
        """Answers with labels and with every attention weight.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict as of `explain`, with ENCODER_WEIGHTS float32 (B, N, H, S, S).
        """
        image, count = at_least_one(image)
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        logits, weights = self.model.attention(pictures, training=False)
        answer = self._best(logits, readable, reasons)
        shares = self._shares(attention_rollout(weights))
        answer[ANSWER_WEIGHTS] = tf.where(readable[:, None, None], shares, 0.0)
        every = tf.stack(weights, axis=1)
        answer[ENCODER_WEIGHTS] = tf.where(readable[:, None, None, None, None], every, 0.0)
        return {key: value[:count] for key, value in answer.items()}

    def signatures(self):
        """What is exported: dict from name to a function and its `TensorSpec`s."""
        image = [tf.TensorSpec((None,), tf.string, name=IMAGE)]
        found = {"serving_default": (self.classify, image)}
        if self._shows_patches():
            found |= {"explain": (self.explain, image), "attention": (self.attention, image)}
        return found

    def requests(self, count):
        """Requests that warm a server up: dict from signature to inputs, `count` of each."""
        return {name: {IMAGE: [warm_up_picture()] * count} for name in self.signatures()}

    def tokenizers(self):
        """dict from the name of its folder to the labels."""
        return {"labels": self.labels}

    def metadata(self):
        """What the service is, beside its model, of types that JSON has."""
        return {
            "n_best": self.n_best,
            "image_size": [self.picture_format.height, self.picture_format.width],
            "fit": self.picture_format.fit,
        }

    def _best(self, logits, readable, reasons):
        """The most probable labels of each row, of equal ones that of the lower id."""
        scores, ids = tf.math.top_k(tf.nn.softmax(tf.cast(logits, tf.float32)), self.n_best)
        valid = readable[:, None]
        return {
            LABELS: tf.where(valid, self.labels.names(ids), ""),
            LABEL_SCORES: tf.where(valid, scores, 0.0),
            ERROR: reasons,
        }

    def _shares(self, rollout):
        """Rollout (B, S, S) to what the picture's vector has of each patch, as the grid."""
        size = (None, self.picture_format.height, self.picture_format.width, 3)
        _, height, width, _ = self.model.encoder.compute_output_shape(size)
        has_token = rollout.shape[-1] > height * width
        seen = rollout[:, 0, 1:] if has_token else tf.reduce_mean(rollout, axis=1)
        return tf.reshape(seen, (-1, height, width))

    def _shows_patches(self):
        return isinstance(self.model.encoder, VisionTransformer)
