"""Encoded pictures to arrays, in the graph: the same code for training and for serving."""

from dataclasses import dataclass

import tensorflow as tf

FITS = ("squash", "crop")


@dataclass(frozen=True)
class PictureFormat:
    """What the model sees of a picture.

    Attributes:
        height: int, pixels.
        width: int, pixels.
        fit: "squash" changes the aspect ratio; "crop" cuts the largest centered box of the right
            aspect ratio first.

    Raises:
        ValueError: a size < 1 or an unknown fit.
    """

    height: int
    width: int
    fit: str = "squash"

    def __post_init__(self):
        if self.height < 1 or self.width < 1:
            raise ValueError(f"Expected sizes >= 1. Received: {self.height}x{self.width}")
        if self.fit not in FITS:
            raise ValueError(f"Expected a fit of {FITS}. Received: {self.fit!r}")

    def decode(self, data):
        """One encoded picture, a string scalar, to uint8 (height, width, 3), RGB."""
        picture = tf.io.decode_image(data, channels=3, expand_animations=False)
        return self.resize(picture)

    def resize(self, picture):
        """uint8 (any, any, 3) to uint8 (height, width, 3)."""
        picture.set_shape((None, None, 3))
        if self.fit == "crop":
            picture = self._center_box(picture)
        size = (self.height, self.width)
        same = tf.reduce_all(tf.shape(picture)[:2] == size)
        picture = tf.cond(same, lambda: picture, lambda: _resize(picture, size))
        return tf.ensure_shape(picture, (*size, 3))

    def _center_box(self, picture):
        rows, columns = tf.unstack(tf.shape(picture)[:2])
        height = tf.minimum(rows, tf.maximum(columns * self.height // self.width, 1))
        width = tf.minimum(columns, tf.maximum(rows * self.width // self.height, 1))
        top, left = (rows - height) // 2, (columns - width) // 2
        return picture[top : top + height, left : left + width]

    def decode_batch(self, data):
        """Encoded pictures, string (B,), to arrays; a bad one does not spoil its neighbors.

        Returns:
            pictures: uint8 (B, height, width, 3); zeros where the picture could not be read.
            readable: bool (B,).
        """
        count = tf.shape(data)[0]
        rows = tf.data.Dataset.from_tensor_slices((tf.range(count), data))
        rows = rows.map(
            lambda index, one: (index, self.decode(one)), num_parallel_calls=tf.data.AUTOTUNE
        )
        rows = rows.ignore_errors().batch(tf.maximum(tf.cast(count, tf.int64), 1))
        good = iter(rows).get_next_as_optional()
        shape = (self.height, self.width, 3)
        index, pictures = tf.cond(
            good.has_value(),
            good.get_value,
            lambda: (tf.zeros((0,), tf.int32), tf.zeros((0, *shape), tf.uint8)),
        )
        # Through int32, because there is no scatter of bytes on every device.
        pictures = tf.scatter_nd(index[:, None], tf.cast(pictures, tf.int32), (count, *shape))
        readable = tf.scatter_nd(index[:, None], tf.ones_like(index), (count,)) > 0
        return tf.cast(pictures, tf.uint8), readable


def _resize(picture, size):
    resized = tf.image.resize(picture, size, method="bilinear", antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(resized), 0, 255), tf.uint8)
