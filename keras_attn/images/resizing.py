"""Resizing of pictures with antialiasing, in TensorFlow's graph."""

from keras_attn.lazy_tensorflow import tf

LONG = 16
"""Times the shorter edge, above which the longer is resized first: the other way, what is between
the two passes would be too large."""
BILINEAR, BICUBIC = INTERPOLATIONS = ("bilinear", "bicubic")


def resize_part(picture, whole, corner, size, interpolation):
    """The part of a resized picture that is shown, of which nothing else is computed.

    Args:
        picture: uint8 (h, w, 3).
        whole: int64 (2,). Size of the resized picture.
        corner: int64 (2,). Rows above the part and columns left of it.
        size: (height, width) of the part.
        interpolation: one of `INTERPOLATIONS`.

    Returns:
        uint8 (height, width, 3).
    """
    scale = tf.cast(whole, tf.float32) / tf.cast(tf.shape(picture)[:2], tf.float32)
    shift = -tf.cast(corner, tf.float32)
    rows, columns = tf.unstack(tf.shape(picture)[:2])
    if interpolation == BILINEAR:
        scaled = tf.cond(
            columns > LONG * rows,
            lambda: _turned(
                _scale(_turned(picture), size[::-1], scale[::-1], shift[::-1], "triangle")
            ),
            lambda: _scale(picture, size, scale, shift, "triangle"),
        )
        return _levels(tf.round(scaled))
    first = tf.where(rows > LONG * columns, (True, False), (False, True))
    for along in (first, ~first):
        part = tf.where(along, size, tf.shape(picture)[:2])
        scales, shifts = tf.where(along, scale, 1.0), tf.where(along, shift, 0.0)
        scaled = _scale(picture, part, scales, shifts, "keyscubic")
        picture = _levels(tf.floor(scaled + 0.5))
    return picture


def _turned(picture):
    """Rows as columns."""
    return tf.transpose(picture, (1, 0, 2))


def _scale(picture, size, scale, shift, kernel):
    """A picture scaled and shifted, float32 (height, width, 3), along its columns first.

    `tf.image.resize` with antialiasing is this operation without a shift.
    """
    return tf.raw_ops.ScaleAndTranslate(
        images=picture[None],
        size=size,
        scale=scale,
        translation=shift,
        kernel_type=kernel,
        antialias=True,
    )[0]


def _levels(pixels):
    """Whole numbers as uint8, those out of range at its ends."""
    return tf.cast(tf.clip_by_value(pixels, 0, 255), tf.uint8)
