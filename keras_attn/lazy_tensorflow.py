"""TensorFlow and tensorflow-text, imported when something of them is first used.

What needs them only where tensors meet files, strings and services can so be imported, and read,
without them.
"""

import importlib
from typing import Any

from keras_attn.extras import extra


class _Lazy:
    """A package by its name.

    Args:
        package: what is imported.
        needed: extra that brings it.
    """

    def __init__(self, package, needed):
        self._package, self._needed = package, needed

    def __getattr__(self, name):
        with extra(self._needed):
            return getattr(importlib.import_module(self._package), name)


tf: Any = _Lazy("tensorflow", "tensorflow")
tf_text: Any = _Lazy("tensorflow_text", "text")
