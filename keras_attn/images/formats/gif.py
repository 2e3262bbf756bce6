"""GIF: its first frame, on the white canvas of the logical screen."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_attn.images.formats.octets import MOST_BLOCKS, Header, Octets, header_of, whole

MOST_PIXEL_BLOCKS = 16384
"""Blocks that are not full, of one frame's pixels or of one extension, at most."""

MOST_FULL = 1024
"""Full blocks that are passed at a time."""


class Frame(NamedTuple):
    """Where the first frame stands, int64 scalars.

    Attributes:
        start: of the image descriptor; -1 where there is none.
        end: after the block that ends its pixels; -1 where the data ends before.
        clear: index of the transparent color; -1 where there is none.
    """

    start: Any
    end: Any
    clear: Any


def header(octets: Octets) -> Header:
    """The screen's size, larger where the frame goes beyond it. GIF holds no EXIF."""
    frame = first_frame(octets)
    left, top, width, height = _box(octets, frame)
    screen = (octets.little(6, 2), octets.little(8, 2))
    found = tf.cast((frame.start > 0) & (width > 0) & (height > 0), tf.int64)
    width, height = tf.maximum(screen[0], left + width), tf.maximum(screen[1], top + height)
    complete = frame.end > 0
    return header_of(width * found, height * found, left, top, complete=complete)


def still(octets: Octets):
    """What the decoder is given: a GIF of only this frame, its transparent color made white.

    Of the whole GIF it would read all frames first, and it knows no transparency.
    """
    frame = first_frame(octets)
    start, flags = frame.start, octets.take(frame.start + 9, 1)[0]
    screen_colors, colors = _colors(octets.take(10, 1)[0]), _colors(flags)
    own = colors > 0
    parts = [
        octets.cut(whole(0), whole(13)),
        _whitened(octets, whole(13), screen_colors, tf.where(own, whole(-1), frame.clear)),
        b",\0\0\0\0",
        octets.cut(start + 5, whole(5)),
        _whitened(octets, start + 10, colors, tf.where(own, frame.clear, whole(-1))),
        octets.cut(start + 10 + 3 * colors, frame.end - start - 10 - 3 * colors),
        b";",
    ]
    return tf.strings.join(parts)


def first_frame(octets: Octets) -> Frame:
    """Walks the extensions up to the first image, then its blocks of pixels."""

    def search(step, position, frame, clear):
        return (step < MOST_BLOCKS) & (frame < 0) & (position >= 0) & (position < octets.size)

    def look(step, position, frame, clear):
        kind, label, size, flags = tf.unstack(octets.take(position, 4))
        control = (kind == 0x21) & (label == 0xF9) & (size >= 4)
        shown = tf.where(flags % 2 == 1, octets.take(position + 6, 1)[0], whole(-1))
        frame = tf.where(kind == 0x2C, position, frame)
        after = tf.cond(kind == 0x21, lambda: _past(octets, position + 2), lambda: whole(-1))
        return step + 1, after, frame, tf.where(control, shown, clear)

    start = 13 + 3 * _colors(octets.take(10, 1)[0])
    state = (0, start, whole(-1), whole(-1))
    _, _, frame, clear = tf.while_loop(search, look, state)
    pixels = frame + 11 + 3 * _colors(octets.take(frame + 9, 1)[0])
    end = tf.cond(frame >= 0, lambda: _past(octets, pixels), lambda: whole(-1))
    return Frame(frame, end, clear)


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


def _whitened(octets, start, colors, clear):
    """The bytes of a color table, one color of it made white."""
    known = (clear >= 0) & (clear < colors)
    before = tf.where(known, 3 * clear, 3 * colors)
    return tf.strings.join(
        [
            octets.cut(start, before),
            tf.where(known, b"\xff\xff\xff", b""),
            octets.cut(start + before + 3, 3 * colors - before - 3),
        ]
    )


def _colors(flags):
    """Entries of the color table that these flags announce."""
    return tf.where(flags >= 128, 2 ** (flags % 8 + 1), whole(0))


def _box(octets, frame):
    """Left, top, width and height of the frame in pixels."""
    return tuple(octets.little(frame.start + place, 2) for place in (1, 3, 5, 7))
