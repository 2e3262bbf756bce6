"""JPEGs cut short: the rows that are there, and gray below.

TensorFlow's own option, `try_recover_truncated`, may never return. Here the file is first decoded
with a header of fewer rows, which fails where these are not all there, and then with the end marker
that it lacks.
"""

from keras_attn.images.formats.octets import whole
from keras_attn.lazy_tensorflow import tf

END = b"\xff\xd9"
STOP = b"\xff\0" * 8 + b"\xff"
"""Half a marker: data that end with it are an error where rows are missing, otherwise none.

Before it are 8 bytes of ones, because the decoder looks so far ahead; ones alone are no code.
"""
GRAY = 128
"""What the decoder makes of pixels after the end."""
BLOCK = 8
"""Rows are missing by whole blocks."""


def mended(data, frame):
    """The data of a JPEG that is cut short, with an end.

    Args:
        data: string scalar.
        frame: int64 scalar. Where its frame header starts.

    Raises:
        InvalidArgumentError: fewer than nine tenths of its rows are there, give or take the end of
            their last 16 x 16 pixels.
    """
    place = frame + 5
    height = tf.strings.substr(data, place, whole(2))
    height = tf.io.decode_raw(height, tf.uint16, little_endian=False)[0]
    needed = (9 * tf.cast(height, tf.int32) + 9) // 10
    digits = tf.gather([bytes([value]) for value in range(256)], [needed // 256, needed % 256])
    before = tf.strings.substr(data, whole(0), place)
    after = tf.strings.substr(data, place + 2, whole(2**31))
    fewer = tf.strings.join([before, digits[0], digits[1], after, STOP])
    # Asserted, because Grappler removes a decoder whose picture is not used.
    is_there = tf.size(tf.io.decode_jpeg(fewer, channels=1, ratio=8)) > 0
    with tf.control_dependencies([tf.raw_ops.Assert(condition=is_there, data=[""])]):
        return tf.strings.join([data, END])


def gray_rows(picture):
    """How many of a mended picture's last rows are gray at their ends, int32 scalar, at least 1.

    Args:
        picture: uint8 (h, w, 1 or 3), as it is stored.
    """
    height = tf.shape(picture)[0]
    is_colored = tf.reduce_any(picture[:, -1] != GRAY, axis=-1)
    last = tf.reduce_max(tf.where(is_colored, tf.range(height) + 1, 0))
    return tf.where(last < height, height - last // BLOCK * BLOCK, 1)
