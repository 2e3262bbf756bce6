"""A loop over time whose outputs may differ in shape from its carry.

Backend kernel: `keras.ops.scan` on TensorFlow demands outputs shaped like the carry, so there this
file writes TensorArrays in a `tf.while_loop`; elsewhere it is `keras.ops.scan`.
"""

import keras
from keras import ops, tree


def scan(step, carry, inputs):
    """Applies `step` along the first axis of `inputs`.

    Args:
        step: function (carry, input) -> (carry, output); carry and output are tuples of tensors,
            input has the structure of `inputs`.
        carry: tuple of tensors.
        inputs: tensor (T, ...) or structure of such tensors, T ≥ 1.

    Returns:
        carry: tuple of tensors, the final carry.
        outputs: tuple of tensors (T, ...).

    Example:
        >>> last, (totals,) = scan(lambda c, x: ((c[0] + x,), (2 * c[0],)), (ops.array(0),),
        ...                        ops.array([1, 2, 3]))
        >>> int(last[0]), [int(total) for total in totals]
        (6, [0, 2, 6])
    """
    if keras.backend.backend() == "tensorflow":
        return _tensorflow_scan(step, carry, inputs)
    return ops.scan(step, carry, inputs)


def _tensorflow_scan(step, carry, inputs):
    import tensorflow as tf

    first = tree.flatten(inputs)[0]
    length = first.shape[0] if first.shape[0] is not None else tf.shape(first)[0]
    sources = tree.map_structure(
        lambda array: tf.TensorArray(array.dtype, length, element_shape=array.shape[1:]).unstack(
            array
        ),
        inputs,
    )
    carry, outputs = step(carry, tree.map_structure(lambda array: array[0], inputs))
    arrays = tuple(
        tf.TensorArray(o.dtype, length, element_shape=o.shape).write(0, o) for o in outputs
    )

    def body(time, carry, arrays):
        carry, outputs = step(carry, tree.map_structure(lambda source: source.read(time), sources))
        return time + 1, carry, tuple(a.write(time, o) for a, o in zip(arrays, outputs))

    _, carry, arrays = tf.while_loop(
        lambda time, *_: time < length, body, (1, carry, arrays), maximum_iterations=length
    )
    return carry, tuple(array.stack() for array in arrays)
