"""Names of packages that import all of their public names."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def public_names(namespace: Mapping[str, Any]) -> list[str]:
    """`__all__` of a package: what it has imported, modules and private names excepted.

    Args:
        namespace: `globals()` of the package, after its imports.

    Example:
        >>> import math
        >>> public_names({"sqrt": math.sqrt, "math": math, "_pi": math.pi})
        ['sqrt']
    """
    return sorted(
        name
        for name, value in namespace.items()
        if not (name.startswith("_") or isinstance(value, ModuleType) or value is public_names)
    )
