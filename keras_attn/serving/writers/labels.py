"""Probabilities as labels."""

from dataclasses import dataclass
from typing import Any

from keras_attn.contracts import LABEL_SCORES, LABELS
from keras_attn.lazy_tensorflow import tf


@dataclass(frozen=True)
class LabelWriter:
    """Logits to the most probable labels; ties go to the lower id.

    Attributes:
        labels: `LabelTable` or `SymbolTable`; special ids are no labels.
        n_best: int > 0. Number of labels, most probable first; all of them if there are fewer.

    Raises:
        ValueError: n_best < 1.
    """

    labels: Any
    n_best: int = 1

    def __post_init__(self):
        if self.n_best < 1:
            raise ValueError(f"Expected n_best >= 1. Received: n_best={self.n_best}")
        object.__setattr__(self, "n_best", min(self.n_best, len(self.labels.names)))

    def write(self, logits, readable):
        """Answers.

        Args:
            logits: float (B, C).
            readable: bool (B,), False where the request could not be read.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n).
        """
        first = self.labels.first_id
        shares = tf.nn.softmax(tf.cast(logits, tf.float32))[:, first:]
        scores, ids = tf.math.top_k(shares, self.n_best)
        valid = readable[:, None]
        return {
            LABELS: tf.where(valid, self.labels.pieces(ids + first), ""),
            LABEL_SCORES: tf.where(valid, scores, 0.0),
        }

    def score(self, logits, labels):
        """Log-probabilities of given labels.

        Args:
            logits: float (B, C).
            labels: string (B,).

        Returns:
            scores: float32 (B,), 0 for what is no label.
            is_label: bool (B,).
        """
        shares = tf.nn.log_softmax(tf.cast(logits, tf.float32))[:, self.labels.first_id :]
        same = labels[:, None] == tf.constant(self.labels.names)
        return tf.reduce_sum(tf.where(same, shares, 0.0), axis=1), tf.reduce_any(same, axis=1)
