"""Sums that keep the variance of their terms."""

import math


def scaled_sum(first, other):
    """√½ · (x + y): of two independent terms of equal variance, with that same variance.

    Args:
        first, other: float, of shapes that broadcast.

    Returns:
        float, their broadcast shape.

    Example:
        >>> round(scaled_sum(3.0, 5.0), 3)
        5.657

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.4.
    """
    return (first + other) * math.sqrt(0.5)
