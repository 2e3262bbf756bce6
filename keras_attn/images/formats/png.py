"""PNG: the size in IHDR, EXIF in an eXIf chunk before the pixels."""

from keras_attn.images.formats.octets import MOST_BLOCKS, Header, Octets, header_of, whole
from keras_attn.lazy_tensorflow import tf


def header(octets: Octets) -> Header:
    """Walks the chunks up to the pixels."""
    exif, exif_end, transparency = _chunks(octets)
    color = octets.take(25, 1)[0]
    channels = tf.where(transparency & ((color == 0) | (color == 2)), 4, 0)
    width, height = octets.big(16, 4), octets.big(20, 4)
    return header_of(width, height, exif=exif, exif_end=exif_end, channels=channels)


def _chunks(octets):
    """Start and end of eXIf, and whether there is tRNS."""

    def search(step, position, exif, exif_end, transparency):
        return (step < MOST_BLOCKS) & (position >= 0) & (position < octets.size)

    def look(step, position, exif, exif_end, transparency):
        length = octets.big(position, 4)
        here = (exif < 0) & octets.shows(position + 4, b"eXIf")
        exif_end = tf.where(here, position + 8 + length, exif_end)
        exif = tf.where(here, position + 8, exif)
        transparency |= octets.shows(position + 4, b"tRNS")
        ended = octets.shows(position + 4, b"IDAT") | octets.shows(position + 4, b"IEND")
        after = tf.where(ended, whole(-1), position + 12 + length)
        return step + 1, after, exif, exif_end, transparency

    start = (0, whole(8), whole(-1), whole(-1), tf.constant(False))
    return tf.while_loop(search, look, start)[2:]
