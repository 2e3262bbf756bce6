"""TensorFlow's types of tensors by their numbers, TF_DataType, and NumPy's."""

import ml_dtypes  # noqa: F401  (gives NumPy bfloat16; comes with Keras)
import numpy as np

STRING = 7
DATA_TYPES = {
    1: ("DT_FLOAT", "float32"),
    2: ("DT_DOUBLE", "float64"),
    3: ("DT_INT32", "int32"),
    4: ("DT_UINT8", "uint8"),
    5: ("DT_INT16", "int16"),
    6: ("DT_INT8", "int8"),
    STRING: ("DT_STRING", "object"),
    8: ("DT_COMPLEX64", "complex64"),
    9: ("DT_INT64", "int64"),
    10: ("DT_BOOL", "bool"),
    14: ("DT_BFLOAT16", "bfloat16"),
    17: ("DT_UINT16", "uint16"),
    18: ("DT_COMPLEX128", "complex128"),
    19: ("DT_HALF", "float16"),
    22: ("DT_UINT32", "uint32"),
    23: ("DT_UINT64", "uint64"),
}
"""TensorFlow's name, and that of NumPy's type; strings are arrays of bytes as objects."""
DTYPES = {number: np.dtype(name) for number, (_, name) in DATA_TYPES.items()}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}


def type_of(array: np.ndarray) -> int:
    """The number of an array's type.

    Raises:
        ValueError: TensorFlow has no such type.

    Example:
        >>> type_of(np.zeros(3, "float32"))
        1
    """
    if array.dtype not in NUMBERS:
        raise ValueError(f"Expected numbers or bytes. Received: {array.dtype}")
    return NUMBERS[array.dtype]


def type_name(number: int) -> str:
    """TensorFlow's name of a type, or its number where NumPy has no such type.

    Example:
        >>> type_name(STRING), type_name(20)
        ('DT_STRING', '20')
    """
    return DATA_TYPES[number][0] if number in DATA_TYPES else str(number)
