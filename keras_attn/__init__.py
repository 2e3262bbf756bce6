"""Attention models for images and text in Keras 3.

`import keras_attn` makes every public name reachable (`keras_attn.layers.MultiHeadAttention`); each
is imported when it is first used. If Keras has been imported before, its classes for saved models
(layers, models, losses and optimizers) are registered with Keras at once; otherwise `import
keras_attn.registered` registers them.
"""

import sys

import lazy_loader

from keras_attn.native_log import quiet
from keras_attn.version import __version__

quiet()

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
