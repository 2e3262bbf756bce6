"""Imports of packages that come with an extra."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Context of imports whose ImportError names the extra to install.

    Example:
        >>> with extra("pictures"):
        ...     import no_such_package
        Traceback (most recent call last):
            ...
        ImportError: Expected the packages of pip install 'keras-attn[pictures]'. Received: ...
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"Expected the packages of pip install 'keras-attn[{name}]'. Received: {error}"
        ) from error
