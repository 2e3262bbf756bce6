"""TensorProtos that somebody else sent, as arrays."""

import math
from collections.abc import Mapping
from typing import Any

MALFORMED = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
"""What reading somebody else's tensors or JSON raises if they are not what they should be."""


def arrays_of(protos: Mapping[str, Any], max_bytes: int) -> dict[str, Any]:
    """Named TensorProtos as NumPy arrays, strings as arrays of bytes.

    Args:
        protos: dict from name to TensorProto.
        max_bytes: int > 0. Most bytes that the arrays may take in all, 8 for a string.

    Raises:
        One of MALFORMED: an unknown data type, contents that do not fit the shape, a negative size,
            or more than `max_bytes`. A TensorProto may claim far more than it holds.
    """
    import tensorflow as tf

    total = 0
    for key, proto in protos.items():
        sizes = [dim.size for dim in proto.tensor_shape.dim]
        total += math.prod(sizes) * (tf.as_dtype(proto.dtype).size or 8)
        if min(sizes, default=0) < 0 or total > max_bytes:
            raise ValueError(f"{key} of shape {sizes}")
    return {key: tf.make_ndarray(proto) for key, proto in protos.items()}
