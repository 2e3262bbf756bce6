"""Backends of Keras as parameters of tests."""

from importlib.util import find_spec

import pytest

_NO_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="no PyTorch here")
OTHERS = ["jax", pytest.param("torch", marks=_NO_TORCH)]
"""Those that equal TensorFlow."""
BACKENDS = ["tensorflow", *OTHERS]
