"""Base of the services of image classifiers."""

import abc

import tensorflow as tf

from keras_attn.contracts import ERROR, IMAGE, LABEL_SCORES, LABELS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.serving.warm_up import warm_up_picture


class LabelService(tf.Module, abc.ABC):
    """Abstract: a classifier with picture decoding and labels.

    Args:
        model: classifier with `num_classes`, from pictures uint8 (B, height, width, 3) to logits.
        labels: `LabelTable` of its classes.
        picture_format: `PictureFormat`, as in training.
        n_best: int > 0. Number of labels returned, most probable first; all of them if there are
            fewer.

    Raises:
        ValueError: n_best < 1, or not as many labels as classes.
    """

    def __init__(self, model, labels, picture_format: PictureFormat, n_best=1):
        super().__init__()
        check_labels(model, labels, n_best)
        self.model, self.labels, self.picture_format = model, labels, picture_format
        self.n_best = min(n_best, labels.vocabulary_size)

    @abc.abstractmethod
    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        return {name: {IMAGE: [warm_up_picture()] * count} for name in self.signatures()}

    def tokenizers(self):
        """dict from the name of its folder to the labels."""
        return {"labels": self.labels}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        return {
            "n_best": self.n_best,
            "image_size": [self.picture_format.height, self.picture_format.width],
            "fit": self.picture_format.fit,
            "max_pixels": self.picture_format.max_pixels,
        }

    def _best(self, logits, readable, reasons):
        return {**best_labels(logits, self.labels, self.n_best, readable), ERROR: reasons}


def check_labels(model, labels, n_best):
    """Raises ValueError unless n_best is positive and there is a label for each class."""
    if n_best < 1:
        raise ValueError(f"Expected n_best >= 1. Received: n_best={n_best}")
    if labels.vocabulary_size != model.num_classes:
        raise ValueError(
            f"Expected {model.num_classes} labels, one per class of the model. "
            f"Received: {labels.vocabulary_size}"
        )


def best_labels(logits, labels, n_best, readable):
    """The most probable labels of each row; ties go to the lower id.

    Args:
        logits: float (B, C).
        labels: `LabelTable`.
        n_best: int. n.
        readable: bool (B,), False where the input could not be read.

    Returns:
        dict: LABELS string (B, n), LABEL_SCORES float32 (B, n).
    """
    scores, ids = tf.math.top_k(tf.nn.softmax(tf.cast(logits, tf.float32)), n_best)
    valid = readable[:, None]
    return {
        LABELS: tf.where(valid, labels.pieces(ids), ""),
        LABEL_SCORES: tf.where(valid, scores, 0.0),
    }
