"""Pictures of the rows of a batch."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat


def picture_rows(steps: tf.data.Dataset, paths: Sequence[str], picture_format: PictureFormat, size):
    """Row numbers to pictures.

    Args:
        steps: data set of row numbers int32 (B,), negative where a batch is filled up.
        paths: of each row's picture.
        picture_format: `PictureFormat`.
        size: int. B.

    Returns:
        data set of pictures uint8 (B, height, width, 3), zeros in filling rows, and row numbers.
    """
    known = tf.constant(paths)
    shape = (picture_format.height, picture_format.width, 3)

    def read(row):
        def picture():
            return picture_format.decode(tf.io.read_file(known[row]))

        return tf.cond(row >= 0, picture, lambda: tf.zeros(shape, tf.uint8)), row

    dataset = steps.unbatch().map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.batch(size, drop_remainder=True)
