"""Formats that are refused by name, because TensorFlow has no decoder for them."""

from keras_attn.images.formats.octets import Header, Octets, header_of
from keras_attn.images.formats.reasons import AVIF, HEIC, TIFF, UNKNOWN
from keras_attn.lazy_tensorflow import tf

AVIF_BRANDS = (b"avif", b"avis")
HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
MOST_BRANDS = 8
"""Brands of a file that are looked at; one may stand first that several formats have."""


def header(octets: Octets) -> Header:
    """A refusal that names the format."""
    brands = tf.reshape(octets.take(8, 4 * MOST_BRANDS), (MOST_BRANDS, 1, 4))
    boxed = octets.shows(4, b"ftyp")

    def has_one_of(names):
        named = tf.constant([list(name) for name in names], tf.int64)
        return boxed & tf.reduce_any(tf.reduce_all(brands == named, axis=-1))

    reason = tf.where(has_one_of(HEIC_BRANDS), HEIC, UNKNOWN)
    reason = tf.where(has_one_of(AVIF_BRANDS), AVIF, reason)
    is_tiff = octets.shows(0, b"II*\0") | octets.shows(0, b"MM\0*")
    return header_of(0, 0, refusal=tf.where(is_tiff, TIFF, reason))
