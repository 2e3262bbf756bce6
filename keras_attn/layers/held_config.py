"""Configs of layers that other layers hold."""

import keras


def held_config(layer):
    """Config of a layer for `get_config` of the one that holds it; it may have several holders.

    In a model that is saved, Keras marks what it meets again as shared, in both configs, but keeps
    a copy of the first from before. Of a second config the copy has the mark.

    Example:
        >>> held_config(keras.layers.Dense(3))["class_name"]
        'Dense'
    """
    keras.saving.serialize_keras_object(layer)
    return keras.saving.serialize_keras_object(layer)
