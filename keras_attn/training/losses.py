"""Losses that mean the same on one device and on many."""

import keras
from keras import ops
from keras.src import backend  # Keras' masks have no public functions.

from keras_attn.checks import check_probability
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.replicas import global_mean
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy


@keras.saving.register_keras_serializable(package="keras_attn")
class TokenCrossEntropy(keras.losses.Loss):
    """Cross-entropy of the next token, in nats per real token of the global batch.

        loss = Σ w · ((1 − ε) · (−log p(y)) + ε/V · Σ_v −log p(v)) / Σ w

    Where w is 0 (padding), nothing counts, the smoothing term included; nor where the mask that
    y_pred carries is False. Under a distribution
    strategy the sum over replicas is the loss; no further scaling.

    Args:
        label_smoothing: probability, 0 ≤ ε < 1, spread over all V tokens (ε/V each, the true one
            included).

    Call arguments:
        y_true: int (..., T).
        y_pred: float logits (..., T, V).
        sample_weight: float (..., T), or fewer axes, of whole examples; 1 everywhere if left out.

    Raises:
        ValueError: label_smoothing outside [0, 1).

    Source: label smoothing as in Szegedy et al. 2016, arXiv:1512.00567, 7.
    """

    def __init__(self, label_smoothing=0.0, name="token_cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)
        check_probability("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses, mask = self.call(y_true, y_pred), backend.get_keras_mask(y_pred)
        weights = ops.ones_like(losses)
        if sample_weight is not None:
            weights = as_wide(sample_weight, losses)
        return global_mean(losses, zero_masked(weights, mask))

    def call(self, y_true, y_pred):
        logits = ops.cast(y_pred, "float32")
        return smoothed_cross_entropy(y_true, logits, self.label_smoothing)

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


def as_wide(weights, losses):
    """Weights with the shape of losses; those of whole examples are each token's.

    Args:
        weights: (...), or fewer axes.
        losses: (..., T).

    Returns:
        float32, shape of `losses`.
    """
    weights = ops.cast(weights, "float32")
    for _ in range(len(losses.shape) - len(weights.shape)):
        weights = ops.expand_dims(weights, -1)
    return ops.ones_like(losses, "float32") * weights
