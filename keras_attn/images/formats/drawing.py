"""Any picture that can be read, from its header to what is seen of it."""

import functools
from typing import Any, NamedTuple

from keras_attn.images.formats import bmp, foreign, gif, jpeg, png, webp
from keras_attn.images.formats.canvas import on_white, placed
from keras_attn.images.formats.cut import gray_rows, mended
from keras_attn.images.formats.exif import orientation, upright
from keras_attn.images.formats.octets import Header, Octets
from keras_attn.images.formats.reasons import DAMAGED, EMPTY, MOST_PIXELS, TOO_LARGE
from keras_attn.lazy_tensorflow import tf

FORMATS = (jpeg, png, gif, bmp, webp)
APART = {"_noinline": True}
"""A branch that is a function of its own in the graph.

Otherwise every node of every branch passes through the executor for each picture, though only one
is taken: 4 times the time.
"""


def _apart_once(function):
    """A function of encoded bytes, and maybe a number, that is traced once, whatever graphs call
    it."""

    @functools.cache
    def traced(count):
        signature = [tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int64)][:count]
        return tf.function(function, signature, autograph=False, experimental_attributes=APART)

    @functools.wraps(function)
    def call(*inputs):
        return traced(len(inputs))(*inputs)

    return call


class Plan(NamedTuple):
    """What is to be done with encoded bytes.

    Attributes:
        reason: string. Why they cannot be decoded; empty where they may be.
        data: string. What the decoder is given: these bytes, but for a GIF (see `gif.still`).
        channels: int64; see `Header`.
        box: int64 (4,). Left and top of the decoded picture, width and height of its canvas.
        orientation: int64, 1 to 8.
        cut: int64; see `Header`.
    """

    reason: Any
    data: Any
    channels: Any
    box: Any
    orientation: Any
    cut: Any


@_apart_once
def plan_of(data):
    """`Plan` of a string scalar, by its header."""
    octets = Octets.of(data)
    kind = _kind(octets)
    formats = (*FORMATS, foreign)
    branches = [_apart(lambda own, one=one: tuple(one.header(own)), octets) for one in formats]
    header = Header(*tf.switch_case(kind, branches))
    reason = _reason(octets, header)
    sound_gif = (reason == "") & (kind == FORMATS.index(gif))
    return Plan(
        reason=reason,
        data=tf.cond(sound_gif, _apart(gif.still, octets), lambda: data),
        channels=header.channels,
        box=tf.stack([header.left, header.top, header.width, header.height]),
        orientation=tf.cond(
            header.exif >= 0,
            _apart(lambda own: orientation(own, header), octets),
            lambda: tf.constant(1, tf.int64),
        ),
        cut=header.cut,
    )


def draw_plan(plan):
    """Decodes a picture by a plan without a reason.

    Returns:
        picture: uint8 (h, w, 3), upright, over white.
        missing: int32 scalar, how many of its last rows, as stored, are gray as it is cut short.

    Raises:
        InvalidArgumentError: the data is damaged after all.
    """
    picture, missing = tf.cond(
        plan.cut >= 0,
        lambda: _draw_cut(plan.data, plan.cut),
        lambda: (_decoded(plan), tf.constant(0)),
    )
    picture.set_shape((None, None, None))
    picture = picture[..., : tf.where(plan.channels == 3, 3, 4)]
    return upright(placed(on_white(picture), plan.box), plan.orientation), missing


def _decoded(plan):
    return tf.cond(
        plan.channels == 4,
        lambda: tf.io.decode_png(plan.data, channels=4),
        lambda: tf.io.decode_image(plan.data, expand_animations=False),
    )


@_apart_once
def _draw_cut(data, frame):
    picture = tf.io.decode_jpeg(mended(data, frame))
    return picture, gray_rows(picture)


@_apart_once
def draw(data):
    """Decodes a picture of any format.

    Args:
        data: string scalar, the encoded picture.

    Returns:
        uint8 (h, w, 3), upright, over white.

    Raises:
        InvalidArgumentError: it cannot be decoded; nothing is decoded whose header shows it.
    """
    plan = plan_of(data)
    check = tf.raw_ops.Assert(condition=plan.reason == "", data=[plan.reason])
    with tf.control_dependencies([check]):
        return draw_plan(plan._replace(data=tf.identity(plan.data)))[0]


def too_large(width, height, limit):
    """The reason for not decoding a picture of more pixels than a limit; integers to string."""
    size = tf.strings.join([tf.strings.as_string(width), "x", tf.strings.as_string(height)])
    return tf.strings.join([size, f" {TOO_LARGE} {limit}"])


def _apart(branch, octets):
    """A branch of a switch as a function of its own; see APART."""

    @tf.function(autograph=False, experimental_attributes=APART)
    def call(data, values, size):
        return branch(Octets(data, values, size))

    return lambda: call(octets.data, octets.values, octets.size)


def _kind(octets):
    """Index into FORMATS by the first bytes, int32; len(FORMATS) for anything else."""
    matches = [
        octets.shows(0, b"\xff\xd8\xff"),
        octets.shows(0, b"\x89PNG\r\n\x1a\n"),
        octets.shows(0, b"GIF87a") | octets.shows(0, b"GIF89a"),
        octets.shows(0, b"BM"),
        octets.shows(0, b"RIFF") & octets.shows(8, b"WEBP"),
    ]
    return tf.argmax(tf.stack([*matches, tf.constant(True)]), output_type=tf.int32)


def _reason(octets, header):
    large = too_large(header.width, header.height, MOST_PIXELS)
    within = (header.width <= MOST_PIXELS) & (header.height <= MOST_PIXELS)
    within &= header.width * header.height <= MOST_PIXELS
    damaged = (header.width < 1) | (header.height < 1)
    reason = tf.where(within, tf.where(header.complete, "", DAMAGED), large)
    reason = tf.where(damaged, DAMAGED, reason)
    reason = tf.where(header.refusal == "", reason, header.refusal)
    return tf.where(octets.size > 0, reason, EMPTY)
