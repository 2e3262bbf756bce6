"""Reading numbers out of encoded bytes, in the graph; whatever lies past the end reads as 0."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

MOST_BLOCKS = 4096
"""Segments, chunks or blocks that a search of a picture's headers looks at, at most."""


class Header(NamedTuple):
    """What a format's header says, int64 scalars but for the last two.

    Attributes:
        width: pixels of the canvas, before EXIF orientation; 0 where the header is damaged.
        height: likewise.
        left: where on the canvas the decoded picture starts.
        top: likewise.
        exif: where the TIFF block of EXIF starts; -1 where there is none.
        exif_end: where it ends.
        keyed: bool scalar. One gray or RGB color of a PNG is transparent.
        complete: bool scalar. False where the pixels are seen to end too early.
    """

    width: Any
    height: Any
    left: Any
    top: Any
    exif: Any
    exif_end: Any
    keyed: Any
    complete: Any


def header_of(
    width, height, left=0, top=0, exif=-1, exif_end=-1, keyed=False, complete=True
) -> Header:
    """A `Header` of tensors."""
    numbers = {
        name: tf.cast(one, tf.int64)
        for name, one in (
            ("width", width),
            ("height", height),
            ("left", left),
            ("top", top),
            ("exif", exif),
            ("exif_end", exif_end),
        )
    }
    return Header(**numbers, keyed=tf.cast(keyed, tf.bool), complete=tf.cast(complete, tf.bool))


@dataclass(frozen=True)
class Octets:
    """Bytes as numbers.

    Attributes:
        data: string scalar.
        values: uint8 (n + 1,); a 0 stands at the end.
        size: int64 scalar n.
    """

    data: Any
    values: Any
    size: Any

    @classmethod
    def of(cls, data) -> "Octets":
        """From a string scalar."""
        values = tf.concat([tf.io.decode_raw(data, tf.uint8), tf.zeros((1,), tf.uint8)], 0)
        return cls(data, values, tf.size(values, tf.int64) - 1)

    def take(self, position, count: int):
        """int64 (count,), the bytes from a position on."""
        places = tf.cast(position, tf.int64) + tf.range(count, dtype=tf.int64)
        places = tf.where((places < 0) | (places > self.size), self.size, places)
        return tf.cast(tf.gather(self.values, places), tf.int64)

    def little(self, position, count: int):
        """int64 scalar of `count` bytes, the lowest first."""
        return tf.reduce_sum(self.take(position, count) * _powers(count))

    def big(self, position, count: int):
        """int64 scalar of `count` bytes, the highest first."""
        return tf.reduce_sum(self.take(position, count) * _powers(count, highest_first=True))

    def signed(self, position):
        """int64 scalar of four bytes in two's complement, the lowest first."""
        value = self.little(position, 4)
        return tf.where(value < 2**31, value, value - 2**32)

    def shows(self, position, text: bytes):
        """bool scalar: these bytes stand at the position."""
        return tf.reduce_all(self.take(position, len(text)) == tf.constant(list(text), tf.int64))

    def cut(self, start, length):
        """string scalar, the bytes there; fewer where the data ends before."""
        start = tf.clip_by_value(start, 0, self.size)
        return tf.strings.substr(self.data, start, tf.maximum(length, 0))


def written(value, count: int):
    """A number as a string scalar of `count` bytes, the lowest first."""
    digits = value // _powers(count) % 256
    table = tf.constant([bytes([one]) for one in range(256)])
    return tf.strings.reduce_join(tf.gather(table, digits))


def whole(value):
    """int64 scalar."""
    return tf.constant(value, tf.int64)


def _powers(count, highest_first=False):
    powers = sorted((256**place for place in range(count)), reverse=highest_first)
    return tf.constant(powers, tf.int64)
