"""Encoded pictures to arrays, in the graph: the same code for training and for serving."""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from keras_attn.serving.formats import bmp, gif, jpeg, png, webp
from keras_attn.serving.formats.canvas import on_white, placed
from keras_attn.serving.formats.exif import orientation, upright
from keras_attn.serving.formats.octets import Header, Octets, header_of

FITS = ("squash", "crop")
MOST_PIXELS = 100_000_000
"""Width times height of the largest picture that is decoded: 300 MB as an array of RGB bytes."""
EMPTY = "zero bytes"
UNKNOWN = "not a JPEG, PNG, GIF, BMP or WebP"
DAMAGED = "cannot be decoded: truncated or corrupt"
FORMATS = (jpeg, png, gif, bmp, webp)


@dataclass(frozen=True)
class PictureFormat:
    """What the model sees of a picture.

    JPEG (RGB, gray, CMYK), PNG, GIF, BMP and WebP, turned upright as EXIF says. Transparency lies
    over white; of an animation the first frame is taken; 16 bits become 8.

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

        Raises:
            InvalidArgumentError: it cannot be decoded; nothing is decoded whose header shows it.
        """
        plan = _plan(data)
        with tf.control_dependencies([tf.debugging.Assert(plan.reason == "", [plan.reason])]):
            data = tf.identity(plan.data)
        return self._draw(data, plan.keyed, plan.box, plan.orientation)

    def _draw(self, data, keyed, box, orientation):
        """What can be drawn by a plan; an error if the data is damaged after all."""
        picture = tf.cond(
            keyed,
            lambda: tf.io.decode_png(data, channels=4),
            lambda: tf.io.decode_image(data, expand_animations=False),
        )
        picture.set_shape((None, None, None))
        return self.resize(upright(placed(on_white(picture), box), orientation))

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
        count, shape = tf.shape(data)[0], (self.height, self.width, 3)
        types = _Plan(tf.string, tf.string, tf.bool, tf.int64, tf.int64)
        plans = tf.map_fn(_plan, data, fn_output_signature=types)
        usable = tf.where(plans.reason == "")[:, 0]
        given = (plans.data, plans.keyed, plans.box, plans.orientation)
        rows = (usable, *(tf.gather(one, usable) for one in given))
        rows = tf.data.Dataset.from_tensor_slices(rows).map(
            lambda index, *plan: (index, self._draw(*plan)), num_parallel_calls=tf.data.AUTOTUNE
        )
        rows = (
            rows.with_options(_quick_start())
            .ignore_errors()
            .batch(tf.maximum(tf.cast(count, tf.int64), 1))
        )
        good = iter(rows).get_next_as_optional()
        index, pictures = tf.cond(
            good.has_value(),
            good.get_value,
            lambda: (tf.zeros((0,), tf.int64), tf.zeros((0, *shape), tf.uint8)),
        )
        index = tf.cast(index[:, None], tf.int32)
        # Through int32, because there is no scatter of bytes on every device.
        pictures = tf.scatter_nd(index, tf.cast(pictures, tf.int32), (count, *shape))
        readable = tf.scatter_nd(index, tf.ones_like(index[:, 0]), (count,)) > 0
        reasons = tf.where(plans.reason == "", DAMAGED, plans.reason)
        return tf.cast(pictures, tf.uint8), readable, tf.where(readable, "", reasons)


def _quick_start():
    """Options of a data set that serves one batch: tuning it takes longer than reading it."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return options


class _Plan(NamedTuple):
    """What is to be done with encoded bytes.

    Attributes:
        reason: string. Why they cannot be decoded; empty where they may be.
        data: string. What the decoder is given; see `still` of each format.
        keyed: bool; see `Header`.
        box: int64 (4,). Left and top of the decoded picture, width and height of its canvas.
        orientation: int64, 1 to 8.
    """

    reason: Any
    data: Any
    keyed: Any
    box: Any
    orientation: Any


def _plan(data):
    octets = Octets.of(data)
    kind = _kind(octets)
    branches = [_apart(lambda own, one=one: tuple(one.header(own)), octets) for one in FORMATS]
    header = Header(*tf.switch_case(kind, [*branches, lambda: tuple(header_of(0, 0))]))
    reason = _reason(octets, kind, header)
    branches = [_apart(one.still, octets) for one in FORMATS]
    kind = tf.where(reason == "", kind, len(FORMATS))
    return _Plan(
        reason=reason,
        data=tf.switch_case(kind, [*branches, lambda: tf.constant("")]),
        keyed=header.keyed,
        box=tf.stack([header.left, header.top, header.width, header.height]),
        orientation=tf.cond(
            header.exif >= 0,
            _apart(lambda own: orientation(own, header), octets),
            lambda: tf.constant(1, tf.int64),
        ),
    )


def _apart(branch, octets):
    """A branch that is a function of its own in the graph.

    Otherwise every node of every format passes through the executor for each picture, though only
    one format is there: 4 times the time.
    """
    attributes = {"_noinline": True}

    @tf.function(autograph=False, experimental_attributes=attributes)
    def call(data, values, size):
        return branch(Octets(data, values, size))

    return lambda: call(octets.data, octets.values, octets.size)


@functools.cache
def _batch_decoder(picture_format):
    """One graph for each format, so that batches outside a graph do not trace it each time."""
    signature = [tf.TensorSpec((None,), tf.string)]
    return tf.function(picture_format._decode_batch, signature, autograph=False)


def _kind(octets):
    """Index into FORMATS by the first bytes, int32; len(FORMATS) for anything else."""
    shown = [
        octets.shows(0, b"\xff\xd8\xff"),
        octets.shows(0, b"\x89PNG\r\n\x1a\n"),
        octets.shows(0, b"GIF87a") | octets.shows(0, b"GIF89a"),
        octets.shows(0, b"BM"),
        octets.shows(0, b"RIFF") & octets.shows(8, b"WEBP"),
    ]
    return tf.argmax(tf.stack([*shown, tf.constant(True)]), output_type=tf.int32)


def _reason(octets, kind, header):
    width, height = tf.strings.as_string(header.width), tf.strings.as_string(header.height)
    bound = f" pixels, more than the bound of {MOST_PIXELS}"
    large = tf.strings.join([width, "x", height, bound])
    within = (header.width <= MOST_PIXELS) & (header.height <= MOST_PIXELS)
    within &= header.width * header.height <= MOST_PIXELS
    damaged = (header.width < 1) | (header.height < 1)
    reason = tf.where(within, tf.where(header.complete, "", DAMAGED), large)
    reason = tf.where(damaged, DAMAGED, reason)
    reason = tf.where(kind < len(FORMATS), reason, UNKNOWN)
    return tf.where(octets.size > 0, reason, EMPTY)


def _resize(picture, size):
    resized = tf.image.resize(picture, size, method="bilinear", antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(resized), 0, 255), tf.uint8)
