"""Batches of pictures, each decoded on its own."""

import re

import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat
from keras_attn_pipelines.data.shards.record_features import IMAGE
from keras_attn_pipelines.data.shards.shards import BY_PLACE, BY_ROW, stored_bytes

PLACED = f".*{re.escape(BY_PLACE)}[0-9]+,[0-9]+"
NUMBERED = f".*{re.escape(BY_ROW)}.*,[0-9]+"
"""Paths of pictures in TFRecord and in ArrayRecord shards."""


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


def pictures_at(paths, picture_format: PictureFormat):
    """The pictures at paths, string (B,), in a graph without Python; see `picture_batches`."""
    spec = tf.TensorSpec((picture_format.height, picture_format.width, 3), tf.uint8)
    return tf.map_fn(
        lambda path: _picture(path, picture_format, by_row=False), paths, fn_output_signature=spec
    )


def _picture(path, picture_format, by_row=True):
    shape = (picture_format.height, picture_format.width, 3)
    return tf.cond(
        path != "",
        lambda: picture_format.decode(_contents(path, by_row)),
        lambda: tf.zeros(shape, tf.uint8),
    )


def _contents(path, by_row):
    """The bytes of an encoded picture."""

    def in_file():
        return tf.io.read_file(path)

    def from_array_record():
        contents = tf.numpy_function(
            lambda path: stored_bytes(path.decode(errors="surrogateescape")),
            [path],
            tf.string,
            stateful=False,
        )
        return tf.ensure_shape(contents, ())

    def in_array_record():
        return tf.cond(tf.strings.regex_full_match(path, NUMBERED), from_array_record, in_file)

    is_placed = tf.strings.regex_full_match(path, PLACED)
    return tf.cond(is_placed, lambda: _from_tfrecord(path), in_array_record if by_row else in_file)


def _from_tfrecord(path):
    """The picture of an example in a TFRecord file, of which nothing else is read."""
    numbers = tf.strings.regex_replace(path, f".*{re.escape(BY_PLACE)}", "")
    file = tf.strings.regex_replace(path, f"{re.escape(BY_PLACE)}[0-9,]+$", "")
    start, size = tf.unstack(tf.strings.to_number(tf.strings.split(numbers, ","), tf.int64), num=2)
    records = tf.raw_ops.TFRecordDatasetV2(  # It compares the record's checksums.
        filenames=[file], compression_type="", buffer_size=size, byte_offsets=[start]
    )
    spec = tf.TensorSpec((), tf.string)
    example = tf.data.experimental.from_variant(records, spec).take(1).get_single_element()
    return tf.io.parse_single_example(example, {IMAGE: tf.io.FixedLenFeature((), tf.string)})[IMAGE]
