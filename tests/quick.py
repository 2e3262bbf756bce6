"""Which rows of a matrix the quick tests run; `make systems` or `make slow` run the others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def rows(values: Iterable[Any], quick: Collection[Any], others: str = "systems") -> list:
    """Values of a parameter, of which all but some are left to `make systems`, or to other tests.

    Raises:
        ValueError: a quick one is not among them.
    """
    values = list(values)
    if unknown := [value for value in quick if value not in values]:
        raise ValueError(f"Expected quick rows among {values}. Received: {unknown}")
    return [
        pytest.param(
            value,
            id=value if isinstance(value, str) else None,
            marks=() if value in quick else getattr(pytest.mark, others),
        )
        for value in values
    ]
