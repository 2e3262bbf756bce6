"""Attention models for images and text in Keras 3.

`import keras_attn` makes every public name reachable (`keras_attn.layers.MultiHeadAttention`), and
saved models readable: layers, models, losses and optimizers are known to Keras from then on. What
needs more packages than Keras and TensorFlow is imported when it is asked for. A program that does
not always need Keras sets the environment variable KERAS_ATTN_LAZY_IMPORT=1 before the import, and
imports `keras_attn.registered` before it loads a model.
"""

import importlib.util
import os

import lazy_loader

from keras_attn.version import __version__

__getattr__, _, _ = lazy_loader.attach(
    __name__,
    submodules=[
        "alignment",
        "contracts",
        "decoding",
        "evaluation",
        "images",
        "layers",
        "models",
        "ops",
        "pretrained",
        "registered",
        "saved",
        "serving",
        "text",
        "training",
        "viz",
    ],
    submod_attrs={"saved.loading": ["load"]},
)
if importlib.util.find_spec("keras") and not os.environ.get("KERAS_ATTN_LAZY_IMPORT"):
    from keras_attn import registered  # noqa: F401  (a REST client needs neither Keras nor this)
__all__ = [
    "__version__",
    "alignment",
    "contracts",
    "decoding",
    "evaluation",
    "images",
    "layers",
    "load",
    "models",
    "ops",
    "pretrained",
    "saved",
    "serving",
    "text",
    "training",
    "viz",
]


def __dir__():
    return __all__
