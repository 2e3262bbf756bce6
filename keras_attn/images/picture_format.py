"""Encoded pictures to arrays: the same operations for training and for serving."""

import functools
from dataclasses import dataclass, replace

from keras_attn.contracts import ANOTHER_REQUEST
from keras_attn.cores import cores
from keras_attn.images.formats.drawing import Plan, draw, draw_plan, plan_of, too_large
from keras_attn.images.formats.plain import is_plain, looks_plain, pixels_of, read_plain
from keras_attn.images.formats.reasons import DAMAGED, MOST_PIXELS
from keras_attn.images.resizing import BILINEAR, INTERPOLATIONS, resize_part
from keras_attn.lazy_tensorflow import tf

SQUASH, CROP, SHORTEST_EDGE = FITS = ("squash", "crop", "shortest_edge")
MAX_PIXELS = 25_000_000
"""Default of `PictureFormat.max_pixels`."""
BATCH_SHARE = 8
"""Pictures of `max_pixels` that a batch may contain by default."""


@dataclass(frozen=True)
class PictureFormat:
    """What the model sees of a picture.

    JPEG (RGB, gray, CMYK), PNG, still GIF, BMP of 24 or 32 bits and still WebP, turned upright as
    EXIF says. Transparency lies over white; 16 bits a channel become 8. A JPEG cut short is gray
    where its rows are missing, if at most a tenth of them are and they are stored in order.

    Attributes:
        height: int, pixels.
        width: int, pixels.
        fit: "squash" changes the aspect ratio; "crop" cuts the largest centered box of the right
            aspect ratio first; "shortest_edge" resizes with the aspect ratio of the picture, then
            cuts out the center, as CLIP's preprocessing does.
        max_pixels: int, width times height of the largest picture that `decode_batch` decodes, at
            most 100,000,000, which is the limit of `decode`.
        max_batch_pixels: int, the most pixels that `decode_batch` decodes in all; None: 8 pictures
            of `max_pixels`.
        interpolation: "bilinear" or "bicubic", both with antialiasing. Bicubic is Pillow's: a = −½,
            and whole levels after each of two passes, along rows, then along columns (the other
            way where a picture has over 16 rows for each column).
        resized_edge: int, pixels of the shorter edge after resizing; of a larger picture than
            height by width the center is cut out. None: the whole is shown, and of
            "shortest_edge" the larger of height and width.

    Raises:
        ValueError: a size < 1, an unknown fit or interpolation, a limit out of range, or a resized
            picture that is smaller than height by width.
    """

    height: int
    width: int
    fit: str = "squash"
    max_pixels: int = MAX_PIXELS
    max_batch_pixels: int | None = None
    interpolation: str = BILINEAR
    resized_edge: int | None = None

    def __post_init__(self):
        if self.height < 1 or self.width < 1:
            raise ValueError(f"Expected sizes >= 1. Received: {self.height}x{self.width}")
        if self.fit not in FITS:
            raise ValueError(f"Expected a fit of {FITS}. Received: {self.fit!r}")
        if self.interpolation not in INTERPOLATIONS:
            raise ValueError(
                f"Expected an interpolation of {INTERPOLATIONS}. Received: {self.interpolation!r}"
            )
        least = (max if self.fit == SHORTEST_EDGE else min)(self.height, self.width)
        if self.resized_edge is not None and self.resized_edge < least:
            raise ValueError(
                f"Expected resized_edge >= {least} for {self.height}x{self.width} by {self.fit}. "
                f"Received: {self.resized_edge}"
            )
        if not 1 <= self.max_pixels <= MOST_PIXELS:
            raise ValueError(
                f"Expected max_pixels from 1 to {MOST_PIXELS}. Received: {self.max_pixels}"
            )
        if self.max_batch_pixels is not None and self.max_batch_pixels < self.max_pixels:
            raise ValueError(
                f"Expected max_batch_pixels >= max_pixels={self.max_pixels}. "
                f"Received: {self.max_batch_pixels}"
            )

    def __str__(self):
        """How pictures are fitted, for people."""
        edge = f" from {self.resized_edge}" if self.resized_edge else ""
        bicubic = "" if self.interpolation == BILINEAR else f", {self.interpolation}"
        return f"{self.height}×{self.width} by {self.fit}{edge}{bicubic}"

    def for_batches(self, count: int, max_pixels: int | None = None) -> "PictureFormat":
        """The format with room for `count` pictures in each call of `decode_batch`.

        For files of one's own, of which a request's limit would leave some for another request.

        Args:
            count: int ≥ 1.
            max_pixels: int, the largest picture; None: the format's own limit.
        """
        largest = max_pixels or self.max_pixels
        return replace(self, max_pixels=largest, max_batch_pixels=count * largest)

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
        if self.fit == CROP:
            picture = self._center_box(picture)
        shape, size = tf.shape(picture)[:2], (self.height, self.width)
        whole = self._resized(shape)
        corner = (whole - size) // 2
        same = tf.reduce_all(tf.cast(shape, tf.int64) == whole)
        picture = tf.cond(
            same,
            lambda: tf.slice(picture, tf.concat([corner, [0]], 0), (*size, 3)),
            lambda: resize_part(picture, whole, corner, size, self.interpolation),
        )
        return tf.ensure_shape(picture, (*size, 3))

    def _resized(self, shape):
        """Size of a picture of a shape after resizing, of which the center is shown, int64 (2,)."""
        if self.fit == SHORTEST_EDGE:
            edge, shape = (
                self.resized_edge or max(self.height, self.width),
                tf.cast(shape, tf.int64),
            )
            return shape * edge // tf.reduce_min(shape)
        shortest = min(self.height, self.width)
        edge = self.resized_edge or shortest
        sides = [side * edge // shortest for side in (self.height, self.width)]
        return tf.constant(sides, tf.int64)

    def _center_box(self, picture):
        rows, columns = tf.unstack(tf.shape(picture)[:2])
        height = tf.minimum(rows, tf.maximum(columns * self.height // self.width, 1))
        width = tf.minimum(columns, tf.maximum(rows * self.width // self.height, 1))
        top, left = (rows - height) // 2, (columns - width) // 2
        return picture[top : top + height, left : left + width]

    def decode_batch(self, data):
        """Encoded pictures, string (B,), to arrays; a bad one does not spoil its neighbors.

        Sizes are checked before anything is decoded: pictures above `max_pixels` are not read, nor
        those that would take the batch above `max_batch_pixels`.

        Returns:
            pictures: uint8 (B, height, width, 3); zeros where the picture could not be read.
            readable: bool (B,).
            reasons: string (B,), why a picture could not be read; empty where it could.
        """
        return self.decode_with_missing_rows(data)[:3]

    def decode_with_missing_rows(self, data):
        """Decodes a batch, and says which pictures are cut short.

        Returns:
            pictures: see `decode_batch`.
            readable: see `decode_batch`.
            reasons: see `decode_batch`.
            missing: int32 (B,), how many of a picture's last rows are missing, and gray; 1 for
                less than a row.
        """
        return _batch_decoder(self)(tf.convert_to_tensor(data, tf.string))

    def _decode_batch(self, data):
        """What looks plain is read directly, what does not goes by its plan.

        Whatever cannot be read is planned as well, for its reason.
        """
        count = tf.shape(data)[0]
        looked = tf.map_fn(looks_plain, data, fn_output_signature=tf.bool)
        plain, other = tf.where(looked)[:, 0], tf.where(~looked)[:, 0]
        plans = _plans_of(tf.gather(data, other))
        reasons, pixels = self._reasons(plans)
        small = tf.size(data, tf.int64) * self.max_pixels <= self._batch_limit
        allowed = tf.cond(
            small,
            lambda: tf.fill((count,), True),
            lambda: self._affordable(data, plain, other, pixels),
        )
        first = plain[tf.gather(allowed, plain)]
        first = self._sound(self._within, first, (tf.gather(data, first),))
        good = (reasons == "") & tf.gather(allowed, other)
        second = self._sound(
            lambda *plan: draw_plan(Plan(*plan)), other[good], [part[good] for part in plans]
        )
        index = tf.concat([first[0], second[0]], 0)
        # Through int32, because there is no scatter of bytes on every device.
        pictures = tf.cast(tf.concat([first[1], second[1]], 0), tf.int32)
        shape = (count, self.height, self.width, 3)
        pictures = tf.cast(tf.scatter_nd(index[:, None], pictures, shape), tf.uint8)
        missing = tf.scatter_nd(index[:, None], tf.concat([first[2], second[2]], 0), (count,))
        readable = _marked(index, count)
        failed = plain[~tf.gather(readable, plain)]
        failures, _ = self._reasons(_plans_of(tf.gather(data, failed)))
        places, messages = tf.concat([other, failed], 0), tf.concat([reasons, failures], 0)
        messages = tf.tensor_scatter_nd_update(tf.fill((count,), ""), places[:, None], messages)
        messages = tf.where(messages == "", tf.where(allowed, DAMAGED, self._deferred), messages)
        return pictures, readable, tf.where(readable, "", messages), missing

    def _within(self, data):
        """A plain picture, of which no row is missing; an error above `max_pixels`."""
        small = pixels_of(data) <= self.max_pixels
        with tf.control_dependencies([tf.raw_ops.Assert(condition=small, data=[""])]):
            return read_plain(tf.identity(data)), tf.constant(0)

    @property
    def _batch_limit(self):
        return self.max_batch_pixels or BATCH_SHARE * self.max_pixels

    @property
    def _deferred(self):
        return f"more than {self._batch_limit} pixels in one request; {ANOTHER_REQUEST}"

    def _affordable(self, data, plain, other, pixels):
        """Which pictures the batch's limit has room for, in their order: bool (B,).

        Args:
            data: string (B,).
            plain: int64 (n,). Indices of those that look plain.
            other: int64 (m,). Indices of the others.
            pixels: int64 (m,). Their pixels.
        """
        rows = tf.data.Dataset.from_tensor_slices((plain, tf.gather(data, plain)))
        rows = rows.map(lambda index, encoded: (index, pixels_of(encoded)))
        none = (tf.zeros((0,), tf.int64), tf.zeros((0,), tf.int64))
        index, sizes = _sound_rows(rows, tf.size(plain, tf.int64), none)
        index, sizes = tf.concat([index, other], 0), tf.concat([sizes, pixels], 0)
        sizes = tf.where(sizes > self.max_pixels, tf.zeros_like(sizes), sizes)
        sizes = tf.scatter_nd(index[:, None], sizes, [tf.size(data, tf.int64)])
        return (sizes == 0) | (tf.cumsum(sizes) <= self._batch_limit)

    def _reasons(self, plans):
        """Why pictures are not decoded, string (n,), and the pixels of those that are."""
        width, height = plans.box[:, 2], plans.box[:, 3]
        large = too_large(width, height, self.max_pixels)
        large = tf.where(width * height > self.max_pixels, large, "")
        reasons = tf.where(plans.reason == "", large, plans.reason)
        return reasons, tf.where(reasons == "", width * height, 0)

    def _sound(self, read, index, given):
        """Indices, pictures uint8 (n, height, width, 3) and missing rows of those that can be read.

        Args:
            read: function from a row of `given` to a picture and its missing rows.
            index: int64 (m,).
            given: sequence of tensors (m, ...).
        """

        def resized(index, *row):
            picture, missing = read(*row)
            return index, self.resize(picture), missing

        rows = tf.data.Dataset.from_tensor_slices((index, *given))
        rows = rows.map(resized, num_parallel_calls=tf.data.AUTOTUNE)
        pictures = tf.zeros((0, self.height, self.width, 3), tf.uint8)
        none = (tf.zeros((0,), tf.int64), pictures, tf.zeros((0,), tf.int32))
        return _sound_rows(rows, tf.size(index, tf.int64), none)


def _plans_of(data):
    """`Plan` of strings (n,), each leaf leading with n."""
    types = Plan(tf.string, tf.string, tf.int64, tf.int64, tf.int64, tf.int64)
    return tf.map_fn(plan_of, data, fn_output_signature=types)


def _sound_rows(rows, count, none):
    """The at most `count` rows of a data set that are without error; `none` if there are none."""

    def some():
        sound = rows.with_options(_quick_start()).ignore_errors()
        batch = iter(sound.batch(count)).get_next_as_optional()
        return tf.cond(batch.has_value(), batch.get_value, lambda: none)

    return tf.cond(count > 0, some, lambda: none)


def read_picture(data: bytes):
    """An encoded picture as people look at it: uint8 (height, width, 3), RGB, of its own size.

    Raises:
        InvalidArgumentError: it cannot be decoded.
    """
    return _read(tf.constant(data, tf.string)).numpy()


def _read(data):
    """An encoded picture, a string scalar, to uint8 (any, any, 3)."""
    return tf.cond(is_plain(data), lambda: read_plain(data), lambda: _through_python(data))


def _through_python(data):
    """`draw` outside the graph, unless TensorFlow has one thread for operations.

    Then the function would wait for the thread that waits for it.
    """
    threads = tf.config.threading.get_inter_op_parallelism_threads() or cores()
    return draw(data) if threads == 1 else tf.py_function(_draw_in_python, [data], tf.uint8)


def _draw_in_python(data):
    """`draw` for a graph that calls Python, where only ValueError is an InvalidArgumentError."""
    try:
        return draw(data)
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(error.message) from error


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
