"""Declaration of a named numeric feature."""

from typing import NamedTuple


class Feature(NamedTuple):
    """Declared shape and type of one example's feature.

    Attributes:
        shape: sizes of its axes; None where examples differ and are padded to a bucket's length.
        dtype: name of its NumPy type.
    """

    shape: tuple[int | None, ...]
    dtype: str = "int32"
