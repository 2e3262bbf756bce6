"""Attention models for images and text in Keras 3.

`import keras_attn` makes every public name reachable (`keras_attn.layers.MultiHeadAttention`); each
is imported when it is first used. If Keras has been imported before, its classes for saved models
(layers, models, losses and optimizers) are registered with Keras at once; otherwise `import
keras_attn.registered` registers them.
"""

import sys
import warnings
from importlib.util import find_spec

import lazy_loader

from keras_attn.native_log import quiet_imports
from keras_attn.version import __version__

_BACKENDS = ("tensorflow", "jax", "torch")
"""Backends of Keras, and the extras that bring them."""


def _is_installed(package):
    """Whether Python finds a package, which is not imported."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


if not any(map(_is_installed, _BACKENDS)):
    _commands = " or ".join(f"pip install 'keras-attn[{name}]'" for name in _BACKENDS)
    warnings.warn(f"Expected a backend of Keras. Received: none; {_commands}", stacklevel=2)
quiet_imports()  # From now on: it changes how TensorFlow is found.

_PACKAGES = (
    "alignment",
    "contracts",
    "decoding",
    "evaluation",
    "images",
    "layers",
    "models",
    "ops",
    "pretrained",
    "saved",
    "serving",
    "text",
    "training",
    "viz",
)
__getattr__, _, _ = lazy_loader.attach(
    __name__, submodules=[*_PACKAGES, "registered"], submod_attrs={"saved.loading": ["load"]}
)
if sys.modules.get("keras"):  # A REST client and the command line begin without it.
    from keras_attn import registered  # noqa: F401
__all__ = ["__version__", "load", *_PACKAGES]


def __dir__():
    return __all__
