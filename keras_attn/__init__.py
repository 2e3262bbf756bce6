"""Attention models for images and text in Keras 3.

`import keras_attn` makes every public name reachable (`keras_attn.layers.MultiHeadAttention`), and
saved models readable: layers, models, losses and optimizers are known to Keras from then on. What
needs more packages than Keras and TensorFlow is imported when it is asked for.
"""

import importlib.util

import lazy_loader

from keras_attn.version import __version__

if importlib.util.find_spec("keras"):  # A REST client needs neither it nor this.
    from keras_attn import decoding, evaluation, layers, models, ops, training

__getattr__, _, _ = lazy_loader.attach(
    __name__, submodules=["contracts", "images", "serving", "text", "viz"]
)
__all__ = [
    "__version__",
    "contracts",
    "decoding",
    "evaluation",
    "images",
    "layers",
    "models",
    "ops",
    "serving",
    "text",
    "training",
    "viz",
]


def __dir__():
    return __all__
