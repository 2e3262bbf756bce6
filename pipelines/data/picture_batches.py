"""Batches of pictures, each decoded on its own."""

import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat


def picture_batches(paths: tf.data.Dataset, picture_format: PictureFormat, size: int):
    """Reads pictures from batches of paths.

    Args:
        paths: data set of string (B,), '' for padding.
        picture_format: `PictureFormat`.
        size: B.

    Returns:
        data set of pictures uint8 (B, height, width, 3), zeros for ''.
    """
    shape = (picture_format.height, picture_format.width, 3)

    def read(path):
        def picture():
            return picture_format.decode(tf.io.read_file(path))

        return tf.cond(path != "", picture, lambda: tf.zeros(shape, tf.uint8))

    pictures = paths.unbatch().map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return pictures.batch(size, drop_remainder=True)
