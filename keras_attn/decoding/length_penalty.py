"""Length penalties of hypotheses' scores."""

import math

from keras import ops

NORMALIZATIONS = ("gnmt", "average")


def length_penalty(length, alpha, normalization="gnmt"):
    """Divisor of the log-probability of a hypothesis of n tokens, end token included.

        "gnmt": ((5 + n) / 6)^α        "average": n^α

    α = 0 turns it off, α > 0 favors long hypotheses, α < 0 short ones. "average" with α = 1 makes
    the score the mean log-probability of a token.

    Args:
        length: int (...). n in tokens.
        alpha: float. α.
        normalization: "gnmt" or "average".

    Returns:
        float32 (...).

    Example:
        >>> float(length_penalty(7, 1.0)), float(length_penalty(7, 1.0, "average"))
        (2.0, 7.0)

    Source: Wu et al. 2016, arXiv:1609.08144, equation 14; n^α is fairseq's `--lenpen`.
    """
    length = ops.cast(length, "float32")
    base = (5.0 + length) / 6.0 if normalization == "gnmt" else length
    return ops.power(base, alpha)


def check_length_penalty(alpha, normalization):
    """Raises ValueError for an alpha that is not finite or an unknown normalization."""
    if not math.isfinite(alpha):
        raise ValueError(f"Expected a finite alpha. Received: alpha={alpha}")
    if normalization not in NORMALIZATIONS:
        raise ValueError(
            f"Expected a normalization in {NORMALIZATIONS}. "
            f"Received: normalization={normalization!r}"
        )
