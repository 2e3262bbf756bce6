"""Empty batches of a service."""

import functools

from keras_attn.lazy_tensorflow import tf


def accepts_empty_batch(method):
    """Decorates a method of a service so that an empty batch is answered with empty arrays.

    Search requires a row, and oneDNN's convolutions return an empty batch with the shape of their
    input. The method therefore gets one row of empty strings in place of an empty batch, and that
    row is removed from its answer. Other batches pass through unchanged.

    Args:
        method: from strings (B, ...), its positional arguments, to a dict of tensors (B, ...).

    Returns:
        The method, which raises TensorFlow's InvalidArgumentError for an answer of another number
        of rows. Whether a batch is empty is decided by its first argument: inputs of different
        lengths stay different.

    Example:
        >>> class Lengths:
        ...     @accepts_empty_batch
        ...     def answer(self, source):
        ...         return {"length": tf.strings.length(source)[:, None]}
        >>> Lengths().answer([])["length"].shape, Lengths().answer(["seven"])["length"].shape
        (TensorShape([0, 1]), TensorShape([1, 1]))
    """

    @functools.wraps(method)
    def answer(self, *inputs, **options):
        inputs = [tf.convert_to_tensor(strings, tf.string) for strings in inputs]
        count = tf.shape(inputs[0])[0]
        rows = [tf.cast(count == 0, tf.int32)]

        def padded_with_row(strings):
            row = tf.fill(tf.concat([rows, tf.shape(strings)[1:]], axis=0), "")
            return tf.concat([strings, row], axis=0)

        answered = method(self, *map(padded_with_row, inputs), **options)
        rows = count + rows[0]
        return {key: _cut(key, value, rows, count) for key, value in answered.items()}

    return answer


def _cut(key, value, rows, count):
    """The first rows of an answer, which must have as many rows as the requests."""
    message = f"Expected as many rows of {key} as requests"
    with tf.control_dependencies([tf.debugging.assert_equal(tf.shape(value)[0], rows, message)]):
        return value[:count]
