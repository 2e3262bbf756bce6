"""Choices by name, flags and probabilities."""

import math
import numbers

import numpy as np


def check_choice(name, value, known):
    """Raises ValueError unless `value` is one of the known.

    Example:
        >>> check_choice("padding", "wrap", ("zeros", "border"))
        Traceback (most recent call last):
            ...
        ValueError: Expected padding in ('zeros', 'border'). Received: padding='wrap'
    """
    if value not in known:
        raise ValueError(f"Expected {name} in {known}. Received: {name}={value!r}")


def check_flag(name, value):
    """A flag as bool; ValueError unless it is one, for `bool("no")` is True.

    Example:
        >>> check_flag("use_bias", "no")
        Traceback (most recent call last):
            ...
        ValueError: Expected use_bias to be True or False. Received: use_bias='no'
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"Expected {name} to be True or False. Received: {name}={value!r}")
    return bool(value)


def check_probability(name, value):
    """Raises ValueError unless 0 ≤ value < 1.

    Example:
        >>> check_probability("dropout", 2)
        Traceback (most recent call last):
            ...
        ValueError: Expected 0 <= dropout < 1. Received: dropout=2
    """
    if not isinstance(value, numbers.Real) or not 0 <= value < 1:
        raise ValueError(f"Expected 0 <= {name} < 1. Received: {name}={value!r}")


def check_above(name, value, least=0):
    """Raises ValueError unless `value` is a finite number above `least`.

    Example:
        >>> check_above("soft_cap", 0.0)
        Traceback (most recent call last):
            ...
        ValueError: Expected soft_cap > 0. Received: soft_cap=0.0
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    is_finite = is_number and math.isfinite(value)
    if not is_finite or value <= least:
        kind = "" if is_finite else ", a finite number"
        raise ValueError(f"Expected {name} > {least}{kind}. Received: {name}={value!r}")


def check_sizes(least=1, **sizes):
    """Raises ValueError unless all are integers of at least `least`.

    Example:
        >>> check_sizes(units=0)
        Traceback (most recent call last):
            ...
        ValueError: Expected units >= 1. Received: units=0
    """
    for name, size in sizes.items():
        is_integer = isinstance(size, int) and not isinstance(size, bool)
        if not is_integer or size < least:
            kind = "" if is_integer else ", an int"
            raise ValueError(f"Expected {name} >= {least}{kind}. Received: {name}={size!r}")
