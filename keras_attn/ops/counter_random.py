"""Random numbers that are a function of a seed and a counter, the same on every backend.

`keras.random` takes no seed that is a tensor, and its numbers differ between backends and, on
TensorFlow, between graphs with and without XLA.
"""

import keras
from keras import ops

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def counter_uniform(seed, first, second):
    """Uniform numbers in [0, 1), multiples of 2⁻²³.

    Args:
        seed: int tensor or int, broadcastable to the counters; its lower 32 bits count.
        first: int tensor (...). First word of the counter.
        second: int tensor (...). Second word.

    Returns:
        float32 (...), the broadcast shape.

    Example:
        >>> result = counter_uniform(7, ops.arange(3), 0)
        >>> [round(float(value), 3) for value in result]
        [0.908, 0.69, 0.095]

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", Threefry-2x32-20.
    """
    bits, _ = _threefry(_word(seed), _word(0), _word(first), _word(second))
    high = ops.cast(ops.right_shift(bits, _word(9)), "int32")
    return ops.cast(high, "float32") * 2.0**-23


def derived_seed(seed, number):
    """Derives a seed for each number, such as a step or a row, from one seed.

    Args:
        seed: int tensor or int, broadcastable to `number`; its lower 32 bits count.
        number: int tensor (...) or int.

    Returns:
        uint32 (...), the broadcast shape, for `counter_uniform` and `derived_seed`.

    Example:
        >>> ops.convert_to_numpy(derived_seed(7, ops.arange(2))).tolist()
        [150121891, 1784888627]
    """
    return _threefry(_word(seed), _word(1), _word(number), _word(0))[0]


def _threefry(key0, key1, x0, x1):
    """The block cipher: uint32 tensors to two uint32 tensors."""
    keys = (key0, key1, ops.bitwise_xor(ops.bitwise_xor(key0, key1), _word(0x1BD11BDA)))
    x0, x1 = _low(x0 + keys[0]), _low(x1 + keys[1])
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            x0 = _low(x0 + x1)
            x1 = ops.bitwise_xor(_rotate(x1, turn), x0)
        x0 = _low(x0 + keys[(group + 1) % 3])
        x1 = _low(x1 + keys[(group + 2) % 3] + _word(group + 1))
    return x0, x1


def _rotate(word, turn):
    left = _low(ops.left_shift(word, _word(turn)))
    return ops.bitwise_or(left, ops.right_shift(word, _word(32 - turn)))


def _word(value):
    word = ops.cast(value, "uint32") if hasattr(value, "dtype") else ops.array(value, "uint32")
    return _low(word)


def _low(word):
    """The lower 32 bits of what Keras takes for uint32, which on PyTorch is int64."""
    return ops.bitwise_and(word, 0xFFFFFFFF) if keras.backend.backend() == "torch" else word
