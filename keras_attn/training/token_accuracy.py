"""How many tokens the model would have chosen itself."""

import keras
from keras import ops

from keras_attn.ops.greatest import greatest


@keras.saving.register_keras_serializable(package="keras_attn")
class TokenAccuracy(keras.metrics.MeanMetricWrapper):
    """The share of tokens whose logit is the greatest (ties count), weighted.

    It reads the logits once; `keras.ops.argmax` on TensorFlow, which Keras' own accuracies call,
    looks for negative zeros first, in several passes.

    Call arguments:
        y_true: int (..., T).
        y_pred: float logits (..., T, V).
        sample_weight: float (..., T); 1 everywhere if left out.

    Example:
        >>> metric = TokenAccuracy()
        >>> float(metric([0, 1], [[3.0, 5.0], [3.0, 5.0]]))
        0.5
    """

    def __init__(self, name="token_accuracy", dtype=None):
        super().__init__(_greatest, name=name, dtype=dtype)

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}


def _greatest(y_true, y_pred):
    labels = ops.cast(y_true, "int32")[..., None]
    chosen = ops.take_along_axis(y_pred, labels, axis=-1)
    largest = greatest(y_pred, float("-inf"), keepdims=True)
    return ops.cast(chosen >= largest, "float32")[..., 0]
