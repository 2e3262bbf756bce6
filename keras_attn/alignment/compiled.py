"""Loops over words, compiled by numba."""


def compiled(function):
    """Compiles a function on its first call, and keeps it on disk for later processes.

    Sums may be added in another order than written, as NumPy does, too.

    Raises:
        ImportError: numba is missing.
    """
    try:
        import numba
    except ImportError as error:
        raise ImportError(
            "Expected numba for word alignment: pip install 'keras-attn[alignment]'. "
            "Received: it is not installed"
        ) from error
    options = {"nopython": True, "nogil": True, "fastmath": {"contract", "nsz", "reassoc"}}
    try:
        return numba.jit(cache=True, **options)(function)
    except RuntimeError:  # There is no folder to keep it in.
        return numba.jit(**options)(function)
