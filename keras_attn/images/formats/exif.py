"""EXIF orientation: reading it from a TIFF block, and turning the picture upright."""

from keras_attn.images.formats.octets import Header, Octets, whole
from keras_attn.lazy_tensorflow import tf

ORIENTATION = 0x0112
MOST_ENTRIES = 512
"""Entries of the first directory that are looked at."""


def orientation(octets: Octets, header: Header):
    """1 to 8, int64 scalar, as EXIF numbers them; 1 where there is none, or a damaged one."""
    start, end = header.exif, header.exif_end
    little, big = octets.shows(start, b"II*\0"), octets.shows(start, b"MM\0*")
    directory = start + _number(octets.take(start + 4, 4), little)
    count = _number(octets.take(directory, 2), little)
    count = tf.minimum(count, tf.minimum((end - directory - 2) // 12, MOST_ENTRIES))
    fits = (start >= 0) & (end <= octets.size) & (little | big) & (directory > start) & (count > 0)
    count = tf.where(fits, count, 0)
    entries = tf.reshape(octets.take(directory + 2, 12 * count), (count, 12))
    kind = _number(entries[:, 2:4], little)
    value = tf.where(
        kind == 3, _number(entries[:, 8:10], little), _number(entries[:, 8:12], little)
    )
    usable = (_number(entries[:, :2], little) == ORIENTATION) & ((kind == 3) | (kind == 4))
    usable &= (value >= 1) & (value <= 8)
    values = tf.concat([tf.boolean_mask(value, usable), [whole(1)]], 0)
    return values[0]


def upright(picture, orientation):
    """Turns uint8 (h, w, 3) as its orientation says; 5 to 8 exchange height and width."""
    order = tf.where(orientation >= 5, [1, 0, 2], [0, 1, 2])
    mirrored, turned = _one_of(orientation, (2, 3, 6, 7)), _one_of(orientation, (3, 4, 7, 8))
    axes = tf.boolean_mask([0, 1], tf.stack([turned, mirrored]))
    return tf.reverse(tf.transpose(picture, order), axes)


def _number(bytes_, little):
    """int64 (...,) from (..., count) bytes in either order."""
    bytes_ = tf.where(little, tf.reverse(bytes_, [-1]), bytes_)
    powers = [256**place for place in range(bytes_.shape[-1])][::-1]
    return tf.reduce_sum(bytes_ * tf.constant(powers, tf.int64), -1)


def _one_of(value, values):
    return tf.reduce_any(value == tf.constant(values, tf.int64))
