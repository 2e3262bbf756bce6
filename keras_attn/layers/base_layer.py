"""Base of all layers: the config."""

from typing import ClassVar

import keras

from keras_attn.layers.constructor_config import constructor_config
from keras_attn.layers.projections import adapt_as_saved, adaptations_config, restored


class BaseLayer(keras.layers.Layer):
    """Abstract: a layer whose config holds the arguments of its constructor.

    They are read from attributes of their names, see `constructor_config`. Layers, initializers
    and config dataclasses are serialized. `from_config` restores them and calls the constructor,
    which takes the fields of a config as a dict too.
    """

    custom_config: ClassVar[tuple[str, ...]] = ()
    """Arguments without such an attribute, which the class's own `get_config` adds."""

    def get_config(self):
        """The arguments of the constructor."""
        return {**super().get_config(), **constructor_config(self), **adaptations_config(self)}

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config`."""
        return restored(cls, config)

    def _post_build(self):  # Of Keras, after every build: by a call, a saved model or by hand.
        adapt_as_saved(self)
        super()._post_build()
