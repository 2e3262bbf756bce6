"""A named numeric feature: what one example holds under a name."""

from typing import NamedTuple


class Feature(NamedTuple):
    """The declared shape and type of a feature of one example.

    Attributes:
        shape: sizes of its axes; None where examples differ and are padded to a bucket's length.
        dtype: name of its NumPy type.
    """

    shape: tuple[int | None, ...]
    dtype: str = "int32"
