"""Encoded pictures to arrays: the same operations for training and for serving."""

import functools
from dataclasses import dataclass

import tensorflow as tf

from keras_attn.images.formats.drawing import Plan, draw, drawn, plan_of
from keras_attn.images.formats.plain import is_plain, looks_plain, read_plain
from keras_attn.images.formats.reasons import DAMAGED

FITS = ("squash", "crop")


@dataclass(frozen=True)
class PictureFormat:
    """What the model sees of a picture.

    JPEG (RGB, gray, CMYK), PNG, still GIF, BMP of 24 or 32 bits and still WebP, turned upright as
    EXIF says. Transparency lies over white; 16 bits a channel become 8.

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
        """One encoded picture, a string scalar, to uint8 (height, width, 3), RGB.

        For data sets. A graph to be saved wants `decode_batch`: here whatever is not plain comes
        through Python, because the graph of all formats takes a data set 2 seconds to start.

        Raises:
            InvalidArgumentError: it cannot be decoded; nothing is decoded whose header shows it.
        """
        return self.resize(_read(data))

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
            reasons: string (B,), why a picture could not be read; empty where it could.
        """
        return _batch_decoder(self)(tf.convert_to_tensor(data, tf.string))

    def _decode_batch(self, data):
        """What looks plain is read first; what is not, or could not be, goes by its plan."""
        plain = tf.where(tf.map_fn(looks_plain, data, fn_output_signature=tf.bool))[:, 0]
        first = self._sound(_checked, plain, (tf.gather(data, plain),))
        count = tf.shape(data)[0]
        rest = tf.where(~_marked(first[0], count))[:, 0]
        types = Plan(tf.string, tf.string, tf.int64, tf.int64, tf.int64)
        plans = tf.map_fn(plan_of, tf.gather(data, rest), fn_output_signature=types)
        good = tf.where(plans.reason == "")[:, 0]
        given = [tf.gather(part, good) for part in plans]
        second = self._sound(lambda *plan: drawn(Plan(*plan)), tf.gather(rest, good), given)
        index = tf.concat([first[0], second[0]], 0)
        # Through int32, because there is no scatter of bytes on every device.
        pictures = tf.cast(tf.concat([first[1], second[1]], 0), tf.int32)
        shape = (count, self.height, self.width, 3)
        pictures = tf.cast(tf.scatter_nd(index[:, None], pictures, shape), tf.uint8)
        reasons = tf.where(plans.reason == "", DAMAGED, plans.reason)
        reasons = tf.tensor_scatter_nd_update(tf.fill((count,), ""), rest[:, None], reasons)
        readable = _marked(index, count)
        return pictures, readable, tf.where(readable, "", reasons)

    def _sound(self, read, index, given):
        """Indices and pictures, uint8 (n, height, width, 3), of those that `read` can read."""

        def rows():
            rows = tf.data.Dataset.from_tensor_slices((index, *given)).map(
                lambda index, *one: (index, self.resize(read(*one))),
                num_parallel_calls=tf.data.AUTOTUNE,
            )
            rows = rows.with_options(_quick_start()).ignore_errors()
            return iter(rows.batch(tf.size(index, tf.int64))).get_next_as_optional()

        def none():
            return tf.zeros((0,), tf.int64), tf.zeros((0, self.height, self.width, 3), tf.uint8)

        def some():
            pictures = rows()
            return tf.cond(pictures.has_value(), pictures.get_value, none)

        return tf.cond(tf.size(index) > 0, some, none)


def read_picture(data: bytes):
    """An encoded picture as people look at it: uint8 (height, width, 3), RGB, of its own size.

    Raises:
        InvalidArgumentError: it cannot be decoded.
    """
    return _read(tf.constant(data, tf.string)).numpy()


def _read(data):
    """An encoded picture, a string scalar, to uint8 (any, any, 3)."""
    return tf.cond(
        is_plain(data),
        lambda: read_plain(data),
        lambda: tf.py_function(_drawn, [data], tf.uint8),
    )


def _drawn(data):
    """`draw` for a graph that calls Python, where only ValueError is an InvalidArgumentError."""
    try:
        return draw(data)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(error.message) from error


def _checked(data):
    """A picture that looks plain; an error if it is not."""
    with tf.control_dependencies([tf.raw_ops.Assert(condition=is_plain(data), data=[""])]):
        return read_plain(tf.identity(data))


def _marked(index, count):
    """bool (count,): whether it is in the index."""
    return tf.scatter_nd(index[:, None], tf.ones_like(index), (count,)) > 0


def _quick_start():
    """Options of a data set that serves one batch: tuning it takes longer than reading it."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return options


@functools.cache
def _batch_decoder(picture_format):
    """One graph for each format, so that batches outside a graph do not trace it each time."""
    signature = [tf.TensorSpec((None,), tf.string)]
    return tf.function(picture_format._decode_batch, signature, autograph=False)


def _resize(picture, size):
    resized = tf.image.resize(picture, size, method="bilinear", antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(resized), 0, 255), tf.uint8)
