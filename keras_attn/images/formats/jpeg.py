"""JPEG: the size in its frame header, EXIF in its first APP1 segment that has it."""

from keras_attn.images.formats.cut import END
from keras_attn.images.formats.octets import MOST_BLOCKS, Header, Octets, header_of, whole
from keras_attn.lazy_tensorflow import tf

FRAMES = tuple(code for code in range(0xC0, 0xD0) if code not in (0xC4, 0xC8, 0xCC))
WITHOUT_LENGTH = (0x01, *range(0xD0, 0xD9))
SEQUENTIAL = (0xC0, 0xC1)
"""Frames that may have all rows in one scan, from the top; coded by Huffman."""
SCAN = 0xDA
LAST = (0xD9, SCAN)


def header(octets: Octets) -> Header:
    """Walks the segments up to the first scan."""

    def search(step, position, frame, scan, exif, exif_end):
        return (step < MOST_BLOCKS) & (position >= 0) & (position < octets.size)

    def look(step, position, frame, scan, exif, exif_end):
        first, code = tf.unstack(octets.take(position, 2))
        marker = (first == 0xFF) & (code != 0xFF) & (code != 0)
        alone, length = _one_of(code, WITHOUT_LENGTH), octets.big(position + 2, 2)
        frame = tf.where(marker & (frame < 0) & _one_of(code, FRAMES), position, frame)
        scan = tf.where(marker & (code == SCAN), position, scan)
        here = marker & (exif < 0) & (code == 0xE1) & octets.shows(position + 4, b"Exif\0\0")
        after = tf.where(marker, position + 2 + tf.where(alone, whole(0), length), position + 1)
        exif_end, exif = tf.where(here, after, exif_end), tf.where(here, position + 10, exif)
        ended = marker & (_one_of(code, LAST) | (~alone & (length < 2)))
        return step + 1, tf.where(ended, whole(-1), after), frame, scan, exif, exif_end

    start = (0, whole(2), whole(-1), whole(-1), whole(-1), whole(-1))
    _, _, frame, scan, exif, exif_end = tf.while_loop(search, look, start)
    is_found = tf.cast(frame >= 0, tf.int64)
    width, height = octets.big(frame + 7, 2) * is_found, octets.big(frame + 5, 2) * is_found
    cut = tf.where(_is_cut(octets, frame, scan), frame, -1)
    return header_of(width, height, exif=exif, exif_end=exif_end, cut=cut)


def _is_cut(octets, frame, scan):
    """Whether the only scan, one of gray or three colors, has no end.

    Of several scans, as in progressive pictures, those that are missing may change every row.
    """
    components = octets.take(frame + 9, 1)[0]
    is_only = (octets.take(scan + 4, 1)[0] == components) & _one_of(components, (1, 3))
    is_only &= (frame >= 0) & (scan >= 0) & _one_of(octets.take(frame + 1, 1)[0], SEQUENTIAL)

    def has_no_end():
        values = octets.values[tf.maximum(scan, 0) :]
        return ~tf.reduce_any((values[:-1] == END[0]) & (values[1:] == END[1]))

    ends = octets.shows(octets.size - len(END), END)
    return tf.cond(is_only & ~ends, has_no_end, lambda: tf.constant(False))


def _one_of(code, codes):
    return tf.reduce_any(code == tf.constant(codes, tf.int64))
