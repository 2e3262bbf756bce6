"""The service of a classifier with spatial transformers."""

import tensorflow as tf

from keras_attn.contracts import CROP, GRID, IMAGE, PICTURE
from keras_attn.models.spatial_transformer.spatial_transformer_classifier import composed_grid
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.label_service import LabelService


class SpatialTransformerService(LabelService):
    """A `SpatialTransformerClassifier` as a service, see `LabelService`.

    Without transformers, it returns labels only.
    """

    def classify(self, image):
        """Answers with labels and the crop of the last transformer.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n), CROP uint8 (B, height, width,
            3), ERROR string (B,). A picture that cannot be read has empty labels, scores of 0, a
            black crop and its own reason under ERROR; the others are unaffected. An empty batch is
            answered with empty arrays.
        """
        answer = self._answered(image)
        return {key: value for key, value in answer.items() if key not in (GRID, PICTURE)}

    def explain(self, image):
        """Answers with labels, the crop and the sampling grid.

        Args:
            image: string (B,), encoded pictures.

        Returns:
            dict as of `classify`, with PICTURE uint8 (B, H, W, 3), what the first transformer saw,
            and GRID float32 (B, height, width, 2), where in it each pixel of CROP was read; 0 where
            a picture could not be read.
        """
        return self._answered(image)

    @accepts_empty_batch
    def _answered(self, image):
        pictures, readable, reasons = self.picture_format.decode_batch(image)
        logits, read = self.model.transformed(pictures, training=False)
        answer = self._best(logits, readable, reasons)
        if read:
            bright = tf.clip_by_value(
                tf.round(255.0 * tf.cast(read[-1].images, tf.float32)), 0, 255
            )
            crops = tf.repeat(tf.cast(bright, tf.uint8), 3 // bright.shape[-1], axis=-1)
            views = {CROP: crops, GRID: composed_grid(read), PICTURE: pictures}
            shown = readable[:, None, None, None]
            zero = {key: tf.zeros_like(value) for key, value in views.items()}
            answer |= {key: tf.where(shown, value, zero[key]) for key, value in views.items()}
        return answer

    def signatures(self):
        """See `LabelService`."""
        image = [tf.TensorSpec((None,), tf.string, name=IMAGE)]
        signatures = {"serving_default": (self.classify, image)}
        if self.model.transformers:
            signatures["explain"] = (self.explain, image)
        return signatures
