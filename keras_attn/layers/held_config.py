"""Configs of sublayers."""

import keras


def held_config(layer):
    """Config of a sublayer for the `get_config` of its owner; sublayers may be shared.

    When a model is saved, Keras marks a layer that occurs twice as shared in both configs, but has
    already copied the first one; hence a second config, whose copy has the mark.

    Example:
        >>> held_config(keras.layers.Dense(3))["class_name"]
        'Dense'
    """
    keras.saving.serialize_keras_object(layer)
    return keras.saving.serialize_keras_object(layer)
