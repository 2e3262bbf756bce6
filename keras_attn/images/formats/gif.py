"""GIF of one frame, on the white canvas of the logical screen."""

from typing import Any, NamedTuple

from keras_attn.images.formats.octets import MOST_BLOCKS, Header, Octets, header_of, whole
from keras_attn.images.formats.reasons import ANIMATED
from keras_attn.lazy_tensorflow import tf

MOST_PIXEL_BLOCKS = 16384
"""Blocks that are not full, of one frame's pixels or of one extension, at most."""

MOST_FULL = 1024
"""Full blocks that are passed at a time."""


class Frame(NamedTuple):
    """Where a frame stands, int64 scalars.

    Attributes:
        start: of the image descriptor; -1 where there is none.
        end: after the block that ends its pixels; -1 where the data ends before.
        clear: where its transparent color stands in its color table; -1 where there is none.
    """

    start: Any
    end: Any
    clear: Any


def header(octets: Octets) -> Header:
    """The screen's size, larger where the frame goes beyond it. GIF holds no EXIF."""
    frame = _first_frame(octets)
    left, top, width, height = _box(octets, frame)
    screen = (octets.little(6, 2), octets.little(8, 2))
    sound = tf.cast((frame.start > 0) & (width > 0) & (height > 0), tf.int64)
    width, height = tf.maximum(screen[0], left + width), tf.maximum(screen[1], top + height)
    animated = _image_after(octets, frame.end)[0] >= 0
    refusal = tf.where(animated, ANIMATED, "")
    width, height, complete = width * sound, height * sound, frame.end > 0
    return header_of(width, height, left, top, complete=complete, refusal=refusal)


def still(octets: Octets):
    """What the decoder is given: the frame alone, at the origin, its transparent color made white.

    The decoder's canvas is as large as its frames, and black where they are transparent.
    """
    start, end, clear = _first_frame(octets)
    white = [octets.cut(whole(0), clear), b"\xff\xff\xff", octets.cut(clear + 3, octets.size)]
    data = tf.where(clear >= 0, tf.strings.join(white), octets.data)
    screen = tf.strings.substr(data, whole(0), 13 + 3 * _colors(octets.take(10, 1)[0]))
    pixels = tf.strings.substr(data, start + 5, end - start - 5)
    return tf.strings.join([screen, b",\0\0\0\0", pixels, b";"])


def _first_frame(octets):
    screen_colors = _colors(octets.take(10, 1)[0])
    start, clear = _image_after(octets, 13 + 3 * screen_colors)
    colors = _colors(octets.take(start + 9, 1)[0])
    end = tf.cond(start >= 0, lambda: _past(octets, start + 11 + 3 * colors), lambda: whole(-1))
    table = tf.where(colors > 0, start + 10, 13)
    has_color = (clear >= 0) & (clear < tf.where(colors > 0, colors, screen_colors))
    return Frame(start, end, tf.where(has_color, table + 3 * clear, -1))


def _image_after(octets, position):
    """Walks the extensions up to an image: its place and its transparent index, -1 for none."""

    def search(step, position, image, clear):
        return (step < MOST_BLOCKS) & (image < 0) & (position >= 0) & (position < octets.size)

    def look(step, position, image, clear):
        kind, label, size, flags = tf.unstack(octets.take(position, 4))
        control = (kind == 0x21) & (label == 0xF9) & (size >= 4)
        transparent = tf.where(flags % 2 == 1, octets.take(position + 6, 1)[0], whole(-1))
        image = tf.where(kind == 0x2C, position, image)
        after = tf.cond(kind == 0x21, lambda: _past(octets, position + 2), lambda: whole(-1))
        return step + 1, after, image, tf.where(control, transparent, clear)

    return tf.while_loop(search, look, (0, position, whole(-1), whole(-1)))[2:]


def _past(octets, position):
    """The place after a series of blocks, each with its length before it; -1 if it never ends.

    Full blocks (255 bytes) are passed many at a time.
    """

    def search(step, position, length):
        return (step < MOST_PIXEL_BLOCKS) & (length > 0) & (position < octets.size)

    def look(step, position, length):
        lengths = octets.values[position : position + MOST_FULL * 256 : 256]
        full = tf.reduce_sum(tf.math.cumprod(tf.cast(lengths == 255, tf.int64)))
        position += 256 * full
        length = octets.take(position, 1)[0]
        return step + 1, position + 1 + length, length

    state = (0, position, whole(1))
    _, position, length = tf.while_loop(search, look, state)
    return tf.where((length == 0) & (position <= octets.size), position, whole(-1))


def _colors(flags):
    """Entries of the color table that these flags announce."""
    return tf.where(flags >= 128, 2 ** (flags % 8 + 1), whole(0))


def _box(octets, frame):
    """Left, top, width and height of the frame in pixels."""
    return tuple(octets.little(frame.start + place, 2) for place in (1, 3, 5, 7))
