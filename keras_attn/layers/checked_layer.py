"""Base of layers some of whose arguments had other names."""

import keras

from keras_attn.former_names import check_call_names, check_former_names


class CheckedLayer(keras.layers.Layer):
    """Abstract: a layer whose constructor and calls answer former names with the new ones."""

    def __new__(cls, *args, **kwargs):
        check_former_names(cls, kwargs)
        return super().__new__(cls, *args, **kwargs)

    def __call__(self, *args, **kwargs):
        check_call_names(type(self).__name__, self.call, kwargs)
        return super().__call__(*args, **kwargs)
