"""Batches of pictures, each decoded on its own."""

import re

import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat
from keras_attn_pipelines.data.shards.shards import BY_ROW, stored_bytes

NUMBERED = f".*{re.escape(BY_ROW)}.*,[0-9]+"
"""Paths of pictures in shards."""


def picture_batches(paths: tf.data.Dataset, picture_format: PictureFormat, size: int):
    """Reads pictures from batches of paths.

    Args:
        paths: data set of string (B,), '' for padding: paths of files, or of pictures in shards.
        picture_format: `PictureFormat`.
        size: B.

    Returns:
        data set of pictures uint8 (B, height, width, 3), zeros for ''.
    """

    def read(path):
        return _picture(path, picture_format)

    pictures = paths.unbatch().map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return pictures.batch(size, drop_remainder=True)


def _picture(path, picture_format):
    shape = (picture_format.height, picture_format.width, 3)
    return tf.cond(
        path != "",
        lambda: picture_format.decode(_contents(path)),
        lambda: tf.zeros(shape, tf.uint8),
    )


def _contents(path):
    """The bytes of an encoded picture."""

    def in_shards():
        contents = tf.numpy_function(
            lambda path: stored_bytes(path.decode(errors="surrogateescape")),
            [path],
            tf.string,
            stateful=False,
        )
        return tf.ensure_shape(contents, ())

    is_stored = tf.strings.regex_full_match(path, NUMBERED)
    return tf.cond(is_stored, in_shards, lambda: tf.io.read_file(path))
