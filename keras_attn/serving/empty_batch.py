"""Empty batches of a service."""

import functools
import inspect

import tensorflow as tf


def accepts_empty_batch(method):
    """Decorates a method of a service so that an empty batch is answered with empty arrays.

    Search requires a row, and oneDNN's convolutions return an empty batch with the shape of their
    input. The method therefore gets one row of empty strings in place of an empty batch, and that
    row is removed from its answer. Other batches pass through unchanged.

    Args:
        method: from strings (B, ...), its arguments without a default, to a dict of tensors
            (B, ...).

    Returns:
        The method. Whether a batch is empty is decided by its first argument: inputs of different
        lengths stay different.

    Example:
        >>> class Lengths:
        ...     @accepts_empty_batch
        ...     def answer(self, source):
        ...         return {"length": tf.strings.length(source)[:, None]}
        >>> Lengths().answer([])["length"].shape, Lengths().answer(["seven"])["length"].shape
        (TensorShape([0, 1]), TensorShape([1, 1]))
    """
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())[1:]
    names = [
        parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty
    ]

    @functools.wraps(method)
    def answer(*arguments, **options):
        given = signature.bind(*arguments, **options).arguments
        given = {**given, **{name: tf.convert_to_tensor(given[name], tf.string) for name in names}}
        count = tf.shape(given[names[0]])[0]
        rows = [tf.cast(count == 0, tf.int32)]

        def padded_with_row(strings):
            row = tf.fill(tf.concat([rows, tf.shape(strings)[1:]], axis=0), "")
            return tf.concat([strings, row], axis=0)

        padded = {name: padded_with_row(given[name]) for name in names}
        return {key: value[:count] for key, value in method(**{**given, **padded}).items()}

    return answer
