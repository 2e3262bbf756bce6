"""Batches of pictures, each decoded on its own."""

import re

import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat
from keras_attn_pipelines.data.shards.shards import PICTURE_MARK, stored_bytes

STORED = f".*{re.escape(PICTURE_MARK)}[^/]*{re.escape(PICTURE_MARK)}[0-9]+"
"""Paths of pictures in shards: no file's, whose names end with a suffix."""


def picture_batches(paths: tf.data.Dataset, picture_format: PictureFormat, size: int):
    """Reads pictures from batches of paths.

    Args:
        paths: data set of string (B,), '' for padding: paths of files, or of pictures in shards.
        picture_format: `PictureFormat`.
        size: B.

    Returns:
        data set of pictures uint8 (B, height, width, 3), zeros for ''.
    """
    shape = (picture_format.height, picture_format.width, 3)

    def read(path):
        def picture():
            return picture_format.decode(_contents(path))

        return tf.cond(path != "", picture, lambda: tf.zeros(shape, tf.uint8))

    pictures = paths.unbatch().map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return pictures.batch(size, drop_remainder=True)


def _contents(path):
    """The bytes of an encoded picture."""

    def stored():
        contents = tf.numpy_function(
            lambda path: stored_bytes(path.decode(errors="surrogateescape")),
            [path],
            tf.string,
            stateful=False,
        )
        return tf.ensure_shape(contents, ())

    is_stored = tf.strings.regex_full_match(path, STORED)
    return tf.cond(is_stored, stored, lambda: tf.io.read_file(path))
