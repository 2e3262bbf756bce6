"""Loops over words, compiled by numba."""

import functools

from keras_attn.extras import extra

_OPTIONS = {"nopython": True, "nogil": True, "fastmath": {"contract", "nsz", "reassoc"}}
"""Sums may be reordered, and products and sums fused; other threads run meanwhile. After
a change here, delete the folders `__pycache__`: numba does not notice it."""


def compiled(function):
    """A function of arrays and numbers that is compiled on its first call.

    The machine code is kept on disk for later processes, where it can be written and read.

    Raises:
        ImportError: on the first call; numba cannot be imported ("Expected numba for word
            alignment: pip install 'keras-attn[alignment]'. Received: No module named 'numba'").
    """
    made = []

    @functools.wraps(function)
    def call(*arguments):
        if not made:
            made.append(_compiler(function))
        try:
            return made[0](*arguments)
        except Exception:  # A full disk or damaged machine code; others are raised again.
            made[0] = _compiler(function, cache=False)
            return made[0](*arguments)

    return call


def _compiler(function, cache=True):
    with extra("alignment"):
        import numba
    try:
        return numba.jit(cache=cache, **_OPTIONS)(function)
    except RuntimeError:  # There is no folder to keep it in.
        return numba.jit(**_OPTIONS)(function)
