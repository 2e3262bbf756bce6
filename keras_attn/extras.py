"""Imports of packages that come with an extra."""

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any


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


def import_optional(
    purpose, module: str = "tensorflow_datasets", package_extra: str = "tfds"
) -> Any:
    """A module, such as tensorflow_datasets, or another one that comes with it.

    Args:
        purpose: what it is needed for, in messages.
        module: name.
        package_extra: of this package, which installs it.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_package(purpose, module, error, package_extra) from error


def missing_package(purpose, module: str, received, package_extra: str) -> ImportError:
    """The error that a package is not installed, see `import_optional`."""
    return ImportError(
        f"Expected {module.split('.')[0]} for {purpose}. Received: {received}. "
        f"Install it: pip install 'keras-attn[{package_extra}]'"
    )
