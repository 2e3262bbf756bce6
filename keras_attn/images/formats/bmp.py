"""BMP, decoded here: the decoder of TensorFlow shows the indices of a palette as gray levels."""

import tensorflow as tf

from keras_attn.images.formats.octets import Header, Octets, header_of, whole

RGB_MASKS = b"\0\0\xff\0\0\xff\0\0\xff\0\0\0"
ALPHA_MASK = b"\0\0\0\xff"
LONGEST = 2**24
"""A width or height that no picture has, in pixels: up to here no product overflows."""


def header(octets: Octets) -> Header:
    """BMP holds no EXIF. A size of 0 for kinds that are not decoded: 16 bits, run lengths, JPEG."""
    width, height = _size(octets)
    bits, packing = _bits(octets), _packing(octets)
    known = tf.reduce_any(bits == tf.constant([1, 4, 8, 24, 32], tf.int64))
    masked = (packing == 3) & (bits == 32) & octets.shows(54, RGB_MASKS)
    known &= (
        ((packing == 0) | masked) & (width > 0) & (width < LONGEST) & (tf.abs(height) < LONGEST)
    )
    known = tf.cast(known, tf.int64)
    complete = octets.size >= _pixels_end(octets)
    return header_of(width * known, tf.abs(height) * known, complete=complete)


def still(octets: Octets):
    """What the decoder is given: the picture as PNG, of its channels that the header declares."""
    return tf.io.encode_png(_picture(octets), compression=0)


def _picture(octets):
    """uint8 (height, width, 3 or 4)."""
    height = _size(octets)[1]
    rows = tf.reshape(
        octets.values[octets.little(10, 4) : _pixels_end(octets)], (tf.abs(height), _stride(octets))
    )
    rows = tf.cond(height > 0, lambda: tf.reverse(rows, [0]), lambda: rows)
    alpha = (_packing(octets) == 3) & (octets.little(14, 4) >= 56) & octets.shows(66, ALPHA_MASK)
    return tf.cond(
        _bits(octets) <= 8,
        lambda: _colored(octets, rows),
        lambda: tf.cond(
            alpha,
            lambda: tf.gather(_pixels(octets, rows), [2, 1, 0, 3], axis=2),
            lambda: tf.gather(_pixels(octets, rows), [2, 1, 0], axis=2),
        ),
    )


def _pixels(octets, rows):
    width, channels = _size(octets)[0], _bits(octets) // 8
    return tf.reshape(rows[:, : width * channels], (tf.shape(rows, tf.int64)[0], width, channels))


def _colored(octets, rows):
    """Indices of 1, 4 or 8 bits, looked up in the palette."""
    bits = _bits(octets)
    shifts = tf.range(8 - bits, -1, -bits, dtype=tf.int64)
    shifts, mask = tf.cast(shifts, tf.uint8), tf.cast(2**bits - 1, tf.uint8)
    indices = tf.bitwise.bitwise_and(tf.bitwise.right_shift(rows[..., None], shifts), mask)
    indices = tf.reshape(indices, (tf.shape(rows)[0], -1))[:, : _size(octets)[0]]
    entry = tf.where(_is_core(octets), whole(3), whole(4))
    start, count = 14 + octets.little(14, 4), 2**bits
    palette = tf.reshape(octets.cut(start, entry * count), (1,))
    palette = tf.io.decode_raw(palette, tf.uint8, fixed_length=1024)[0]
    palette = tf.reshape(palette[: entry * count], (count, entry))
    return tf.gather(tf.gather(palette, [2, 1, 0], axis=1), tf.cast(indices, tf.int32))


def _is_core(octets):
    """Whether the header is that of OS/2, with sizes of two bytes."""
    return octets.little(14, 4) == 12


def _size(octets):
    """Width, and height, which is negative where the first row is the top one."""
    core = _is_core(octets)
    width = tf.where(core, octets.little(18, 2), octets.signed(18))
    return width, tf.where(core, octets.little(20, 2), octets.signed(22))


def _bits(octets):
    return octets.little(tf.where(_is_core(octets), whole(24), whole(28)), 2)


def _packing(octets):
    return tf.where(_is_core(octets), whole(0), octets.little(30, 4))


def _stride(octets):
    return (_bits(octets) * _size(octets)[0] + 31) // 32 * 4


def _pixels_end(octets):
    return octets.little(10, 4) + _stride(octets) * tf.abs(_size(octets)[1])
