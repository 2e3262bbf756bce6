"""Which rows of a matrix the quick tests run; `make systems` runs the others."""

from collections.abc import Collection, Iterable

import pytest


def rows(names: Iterable[str], quick: Collection[str]) -> list:
    """Parameters by name, of which all but some are left to `make systems`.

    Raises:
        ValueError: a quick one is not among them.
    """
    names = list(names)
    if unknown := set(quick) - set(names):
        raise ValueError(f"Expected quick rows among {names}. Received: {sorted(unknown)}")
    return [
        pytest.param(name, id=str(name), marks=() if name in quick else pytest.mark.systems)
        for name in names
    ]
