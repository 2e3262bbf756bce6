"""Still WebP."""

from keras_attn.images.formats.octets import MOST_BLOCKS, Header, Octets, header_of, whole
from keras_attn.images.formats.reasons import ANIMATED
from keras_attn.lazy_tensorflow import tf

ANIMATION_FLAG = 0x02


def header(octets: Octets) -> Header:
    """The picture's size. Animations can make TensorFlow's decoder write beyond its memory.

    The decoder also takes a bare stream of pixels, whose size no chunk states: that is damaged.
    """
    pixels, frame, exif = _chunks(octets)
    width, height = _size(octets, pixels)
    extended = octets.shows(12, b"VP8X")
    flag = octets.take(20, 1)[0] // ANIMATION_FLAG % 2 == 1
    complete = pixels + 8 + octets.little(pixels + 4, 4) <= octets.size
    refusal = tf.where((frame >= 0) | (extended & flag), ANIMATED, "")
    sound = (pixels == 12) | (extended & (pixels > 0))
    tiff = exif + 8 + tf.where(octets.shows(exif + 8, b"Exif\0\0"), whole(6), 0)
    end = exif + 8 + octets.little(exif + 4, 4)
    tiff = tf.where(exif >= 0, tiff, whole(-1))
    sound = tf.cast(sound, tf.int64)
    width, height = width * sound, height * sound
    return header_of(width, height, exif=tiff, exif_end=end, complete=complete, refusal=refusal)


def _chunks(octets):
    """Where the first VP8 or VP8L, ANMF and EXIF chunks start; -1 where there is none."""

    def search(step, position, *chunks):
        return (step < MOST_BLOCKS) & (position + 8 <= octets.size)

    def look(step, position, pixels, frame, exif):
        def first(place, *kinds):
            here = tf.reduce_any([octets.shows(position, kind) for kind in kinds])
            return tf.where((place < 0) & here, position, place)

        length = octets.little(position + 4, 4)
        after = position + 8 + length + length % 2
        pixels, frame = first(pixels, b"VP8 ", b"VP8L"), first(frame, b"ANMF")
        return step + 1, after, pixels, frame, first(exif, b"EXIF")

    state = (0, whole(12), whole(-1), whole(-1), whole(-1))
    return tf.while_loop(search, look, state)[2:]


def _size(octets, pixels):
    """Width and height that the pixels' chunk states; 0 where it is damaged."""
    lossless = octets.shows(pixels, b"VP8L") & octets.shows(pixels + 8, b"\x2f")
    lossy = octets.shows(pixels, b"VP8 ") & octets.shows(pixels + 11, b"\x9d\x01\x2a")
    packed = octets.little(pixels + 9, 4)
    narrow = [octets.little(pixels + place, 2) % 2**14 for place in (14, 16)]
    wide = [packed % 2**14 + 1, packed // 2**14 % 2**14 + 1]
    return tuple(
        tf.where(lossless, bits, tf.where(lossy, other, 0)) for bits, other in zip(wide, narrow)
    )
