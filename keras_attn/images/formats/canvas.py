"""White canvases: under transparent pixels, and around frames that do not fill theirs."""

from keras_attn.lazy_tensorflow import tf


def on_white(picture):
    """uint8 (h, w, 1 to 4), gray or RGB with or without alpha, to uint8 (h, w, 3).

    What is transparent shows white through: (color · alpha + 255 · (255 − alpha)) / 255, rounded.
    """
    channels = tf.shape(picture)[2]
    color = tf.cond(
        channels < 3, lambda: tf.repeat(picture[..., :1], 3, axis=2), lambda: picture[..., :3]
    )
    return tf.cond(channels % 2 == 0, lambda: _blended(color, picture[..., -1:]), lambda: color)


def placed(picture, box):
    """uint8 (h, w, 3) on a white canvas (height, width, 3) that holds all of it.

    Args:
        picture: uint8 (h, w, 3).
        box: int64 (4,). Left, top, width and height.
    """
    left, top, width, height = tf.unstack(box)
    rows, columns = tf.unstack(tf.shape(picture, tf.int64)[:2])
    paddings = [[top, height - top - rows], [left, width - left - columns], [0, 0]]
    return tf.pad(picture, paddings, constant_values=tf.constant(255, tf.uint8))


def _blended(color, alpha):
    """In 16 bits: no sum is above 255² + 127."""
    alpha, white = tf.cast(alpha, tf.uint16), tf.constant(255, tf.uint16)
    total = tf.cast(color, tf.uint16) * alpha + white * (white - alpha)
    return tf.cast((total + tf.constant(127, tf.uint16)) // white, tf.uint8)
