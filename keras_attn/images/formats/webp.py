"""WebP: the still picture, or the first frame of an animation on its white canvas."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_attn.images.formats.octets import (
    MOST_BLOCKS,
    Header,
    Octets,
    header_of,
    whole,
    written,
)

ALPHA_FLAG = 0x10


class Chunks(NamedTuple):
    """Where the chunks start, int64 scalars, -1 where there is none.

    Attributes:
        pixels: the first VP8 or VP8L chunk.
        alpha: the ALPH chunk before it.
        frame: the first ANMF chunk.
        exif: the EXIF chunk.
    """

    pixels: Any
    alpha: Any
    frame: Any
    exif: Any


def header(octets: Octets) -> Header:
    """The picture's size, or that of the canvas of an animation."""
    chunks = _chunks(octets)
    size = _frame_size(octets, chunks.pixels)
    left, top, width, height = _canvas(octets, chunks, *size)
    complete = chunks.pixels + 8 + octets.little(chunks.pixels + 4, 4) <= octets.size
    found = tf.cast((chunks.pixels >= 0) & (size[0] > 0) & (size[1] > 0), tf.int64)
    tiff = chunks.exif + 8 + tf.where(octets.shows(chunks.exif + 8, b"Exif\0\0"), whole(6), 0)
    end = chunks.exif + 8 + octets.little(chunks.exif + 4, 4)
    tiff = tf.where(chunks.exif >= 0, tiff, whole(-1))
    return header_of(width * found, height * found, left, top, tiff, end, complete=complete)


def still(octets: Octets):
    """What the decoder is given: a still picture made of the chunks that hold it.

    Animations can make it write beyond its memory.
    """
    chunks = _chunks(octets)
    size = _frame_size(octets, chunks.pixels)
    extended = [
        b"VP8X\x0a\0\0\0" + bytes([ALPHA_FLAG]) + b"\0\0\0",
        written(size[0] - 1, 3),
        written(size[1] - 1, 3),
        _chunk(octets, chunks.alpha),
    ]
    extended = tf.where(chunks.alpha >= 0, tf.strings.join(extended), b"")
    body = tf.strings.join([b"WEBP", extended, _chunk(octets, chunks.pixels)])
    length = tf.cast(tf.strings.length(body), tf.int64)
    return tf.strings.join([b"RIFF", written(length, 4), body])


def _chunks(octets):
    def search(step, position, *chunks):
        return (step < MOST_BLOCKS) & (position + 8 <= octets.size)

    def look(step, position, pixels, alpha, frame, exif):
        def new(place, kind):
            return tf.where((place < 0) & octets.shows(position, kind), position, place)

        waiting = pixels < 0
        enters = waiting & (frame < 0) & octets.shows(position, b"ANMF")
        alpha = tf.where(waiting, new(alpha, b"ALPH"), alpha)
        pixels, frame, exif = (
            new(new(pixels, b"VP8 "), b"VP8L"),
            new(frame, b"ANMF"),
            new(exif, b"EXIF"),
        )
        length = octets.little(position + 4, 4)
        after = position + 8 + tf.where(enters, whole(16), length + length % 2)
        return step + 1, after, pixels, alpha, frame, exif

    state = (0, whole(12), whole(-1), whole(-1), whole(-1), whole(-1))
    return Chunks(*tf.while_loop(search, look, state)[2:])


def _frame_size(octets, pixels):
    """Width and height that the pixels' chunk states; 0 where it is damaged."""
    lossless = octets.shows(pixels, b"VP8L") & octets.shows(pixels + 8, b"\x2f")
    lossy = octets.shows(pixels, b"VP8 ") & octets.shows(pixels + 11, b"\x9d\x01\x2a")
    packed = octets.little(pixels + 9, 4)
    narrow = [octets.little(pixels + place, 2) % 2**14 for place in (14, 16)]
    wide = [packed % 2**14 + 1, packed // 2**14 % 2**14 + 1]
    return tuple(
        tf.where(lossless, one, tf.where(lossy, other, 0)) for one, other in zip(wide, narrow)
    )


def _canvas(octets, chunks, width, height):
    """Left and top of the frame, width and height of the canvas it stands on."""
    moving = tf.cast(chunks.frame >= 0, tf.int64)
    left = 2 * octets.little(chunks.frame + 8, 3) * moving
    top = 2 * octets.little(chunks.frame + 11, 3) * moving
    canvas = [(octets.little(place, 3) + 1) * moving for place in (24, 27)]
    return left, top, tf.maximum(left + width, canvas[0]), tf.maximum(top + height, canvas[1])


def _chunk(octets, position):
    """The bytes of a chunk, with its padding."""
    length = octets.little(position + 4, 4)
    return octets.cut(position, 8 + length + length % 2)
