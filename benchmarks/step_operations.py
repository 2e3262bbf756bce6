"""The matrix products of one training step of a captioner with soft attention, counted."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf


class Product(NamedTuple):
    """(rows, inner) · (inner, columns), `times` times in a step, for each of `batch` pictures.

    `gradients` products more of as many operations belong to it: one for what is right (the
    weights), and one for what is left, unless that is a given of the step.
    """

    rows: int
    inner: int
    columns: int
    times: int = 1
    batch: int = 1
    gradients: int = 2

    @property
    def operations(self) -> int:
        """Of a step, backward pass included; a multiplication and an addition are two."""
        once = 2 * self.batch * self.rows * self.inner * self.columns
        return once * self.times * (1 + self.gradients)

    def run(self) -> None:
        """Multiplies matrices of these shapes as often as the step does, forward and backward."""
        leading = (self.batch,) if self.batch > 1 else ()
        left = tf.ones((*leading, self.rows, self.inner))
        right = tf.ones((*leading, self.inner, self.columns))
        product = tf.ones((*leading, self.rows, self.columns))
        for _ in range(self.times):
            tf.matmul(left, right)
            if self.gradients >= 1:
                tf.matmul(left, product, transpose_a=True)
            if self.gradients == 2:
                tf.matmul(product, right, transpose_b=True)


def products(model, pictures: int, captions: int, length: int) -> list[Product]:
    """What a step on cached features multiplies; all else (tanh, softmax, Adam) is left out.

    Args:
        model: `Captioner` with a `feature_projection` and an `SoftAttention`.
        pictures: int. B.
        captions: int. C, captions a picture.
        length: int. T.
    """
    config, attention = model.decoder.config, model.decoder.attention
    locations, given = model.feature_shape
    features, hidden, width = config.feature_dim, config.hidden_dim, config.embedding_dim
    rows, gates = pictures * captions, 4 * config.hidden_dim
    return [
        Product(pictures * locations, given, features, gradients=1),
        Product(pictures * locations, features, attention.units),
        Product(pictures, features, hidden, times=2),
        Product(rows * length, width, gates),
        Product(rows, hidden, attention.units, times=length),
        Product(captions * locations, attention.units, 1, times=length, batch=pictures),
        Product(captions, locations, features, times=length, batch=pictures),
        Product(rows, hidden, 1, times=length),
        Product(rows, hidden, gates, times=length),
        Product(rows, features, gates, times=length),
        Product(rows * length, hidden, width),
        Product(rows * length, features, width),
        Product(rows * length, width, config.vocabulary_size),
    ]


def operations(model, pictures: int, captions: int, lengths: Sequence[int]) -> int:
    """Floating-point operations of steps on batches of these lengths."""
    steps = (products(model, pictures, captions, length) for length in lengths)
    return sum(product.operations for step in steps for product in step)
