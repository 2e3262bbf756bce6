"""Resizing of pictures with antialiasing, in TensorFlow's graph."""

from keras_attn.lazy_tensorflow import tf

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
    if interpolation == BILINEAR:
        return _levels(tf.round(_scale(picture, size, scale, shift, "triangle")))
    rows = (tf.shape(picture)[0], size[1])
    scaled = _scale(picture, rows, scale * (0, 1) + (1, 0), shift * (0, 1), "keyscubic")
    picture = _levels(tf.floor(scaled + 0.5))
    scaled = _scale(picture, size, scale * (1, 0) + (0, 1), shift * (1, 0), "keyscubic")
    return _levels(tf.floor(scaled + 0.5))


def _scale(picture, size, scale, shift, kernel):
    """A picture scaled and shifted, float32 (height, width, 3).

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
