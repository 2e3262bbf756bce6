"""BMP of 24 or 32 bits. TensorFlow's decoder shows the indices of a palette as gray levels."""

from keras_attn.images.formats.octets import Header, Octets, header_of, whole
from keras_attn.images.formats.reasons import BMP_KIND
from keras_attn.lazy_tensorflow import tf

RGB_MASKS = b"\0\0\xff\0\0\xff\0\0\xff\0\0\0"
ALPHA_MASK = b"\0\0\0\xff"
LONGEST = 2**24
"""A width or height that no picture has, in pixels: up to here no product overflows."""


def header(octets: Octets) -> Header:
    """The size, or a refusal of palettes, 16 bits, compression and the header of OS/2.

    BMP holds no EXIF. The fourth byte of a pixel is alpha only where a mask says so.
    """
    length, bits, packing = octets.little(14, 4), octets.little(28, 2), octets.little(30, 4)
    width, height = octets.signed(18), octets.signed(22)
    masked = (packing == 3) & (bits == 32) & octets.shows(54, RGB_MASKS)
    readable = (length >= 40) & ((bits == 24) | (bits == 32)) & ((packing == 0) | masked)
    planes = octets.little(tf.where(length == 12, whole(22), whole(26)), 2)
    alpha = masked & (length >= 56) & octets.shows(66, ALPHA_MASK)
    sound = readable & (width > 0) & (width < LONGEST) & (tf.abs(height) < LONGEST)
    sound = tf.cast(sound, tf.int64)
    end = octets.little(10, 4) + (bits * width + 31) // 32 * 4 * tf.abs(height)
    return header_of(
        width * sound,
        tf.abs(height) * sound,
        channels=tf.where(alpha, 0, 3),
        complete=octets.size >= end,
        refusal=tf.where(~readable & (planes == 1), BMP_KIND, ""),
    )
