"""Reading numbers out of encoded bytes, in the graph; whatever lies past the end reads as 0."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from keras_attn.lazy_tensorflow import tf

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
        channels: of the decoded picture: 4 where one gray or RGB color of a PNG is transparent, 3
            where a fourth is to be left out, 0 for what the decoder gives.
        cut: where the frame header of a JPEG is that is cut short in its only scan; -1 otherwise.
        complete: bool scalar. False where the pixels are seen to end too early.
        refusal: string scalar. Why pictures of this kind are not read; '' where they are.
    """

    width: Any
    height: Any
    left: Any
    top: Any
    exif: Any
    exif_end: Any
    channels: Any
    cut: Any
    complete: Any
    refusal: Any


def header_of(
    width,
    height,
    left=0,
    top=0,
    exif=-1,
    exif_end=-1,
    channels=0,
    cut=-1,
    complete=True,
    refusal="",
) -> Header:
    """A `Header` of tensors."""
    numbers = {
        name: tf.cast(number, tf.int64)
        for name, number in (
            ("width", width),
            ("height", height),
            ("left", left),
            ("top", top),
            ("exif", exif),
            ("exif_end", exif_end),
            ("channels", channels),
            ("cut", cut),
        )
    }
    complete, refusal = tf.cast(complete, tf.bool), tf.convert_to_tensor(refusal, tf.string)
    return Header(**numbers, complete=complete, refusal=refusal)


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


def whole(value):
    """int64 scalar."""
    return tf.constant(value, tf.int64)


def _powers(count, highest_first=False):
    powers = sorted((256**place for place in range(count)), reverse=highest_first)
    return tf.constant(powers, tf.int64)
