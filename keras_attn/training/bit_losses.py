"""Loss and metrics of sequences of bits."""

import math

import keras
from keras import ops

from keras_attn.ops.masks import zero_masked
from keras_attn.ops.replicas import global_mean


@keras.saving.register_keras_serializable(package="keras_attn")
class BitCrossEntropy(keras.losses.Loss):
    """Cross-entropy in nats per bit of the global batch.

        loss = Σ w · mean_o(−log p(y_o)) / Σ w

    Under a distribution strategy the sum over replicas is the loss; no further scaling.

    Call arguments:
        y_true: float (B, T, O), 0 or 1.
        y_pred: float logits (B, T, O).
        sample_weight: float (B, T); 1 everywhere if left out.

    Example:
        >>> float(BitCrossEntropy()(ops.ones((2, 3, 5)), ops.zeros((2, 3, 5))))  # log 2
        0.6931471824645996
    """

    def __init__(self, name="bit_cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, weights = _counted(y_true, y_pred, sample_weight)
        return global_mean(self.call(y_true, y_pred), weights)

    def call(self, y_true, y_pred):
        return ops.mean(bit_costs(y_true, y_pred), axis=-1)


@keras.saving.register_keras_serializable(package="keras_attn")
class BitsPerSequence(keras.metrics.Mean):
    """Cost of a whole sequence in bits: what is left to be told about it.

    Call arguments:
        y_true, y_pred, sample_weight: as of `BitCrossEntropy`. A sequence without a step of weight
            above 0 does not count.

    Example:
        >>> float(BitsPerSequence()(ops.ones((2, 3, 5)), ops.zeros((2, 3, 5))))
        15.0

    Source: Graves et al. 2014, arXiv:1410.5401, the cost of its learning curves.
    """

    def __init__(self, name="bits", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, weights = _counted(y_true, y_pred, sample_weight)
        costs = ops.sum(bit_costs(y_true, y_pred), axis=-1) / math.log(2)
        return super().update_state(ops.sum(weights * costs, axis=1), ops.max(weights, axis=1))


@keras.saving.register_keras_serializable(package="keras_attn")
class ExactSequences(keras.metrics.Mean):
    """The share of sequences all of whose bits are right.

    Call arguments:
        y_true, y_pred, sample_weight: as of `BitsPerSequence`.

    Example:
        >>> y_true = ops.array([[[1.0], [0.0]], [[1.0], [1.0]]])
        >>> float(ExactSequences()(y_true, ops.array([[[3.0], [-5.0]], [[-3.0], [5.0]]])))
        0.5
    """

    def __init__(self, name="exact", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, weights = _counted(y_true, y_pred, sample_weight)
        wrong = ops.not_equal(ops.greater(y_pred, 0.0), ops.greater(y_true, 0.5))
        wrong = ops.cast(ops.any(wrong, axis=-1), "float32")
        exact = ops.cast(ops.sum(weights * wrong, axis=1) <= 0, "float32")
        return super().update_state(exact, ops.max(weights, axis=1))


def bit_costs(y_true, y_pred):
    """−log p(y) of each bit in nats, float32 (..., O), from bits and logits (..., O)."""
    logits, bits = ops.cast(y_pred, "float32"), ops.cast(y_true, "float32")
    return ops.relu(logits) - logits * bits + ops.log1p(ops.exp(-ops.abs(logits)))


def _counted(y_true, y_pred, sample_weight):
    """Bits and logits float32 (B, T, O), 0 at steps of weight 0; weights float32 (B, T)."""
    bits, logits = ops.cast(y_true, "float32"), ops.cast(y_pred, "float32")
    if sample_weight is None:
        return bits, logits, ops.ones_like(logits[..., 0])
    weights = ops.cast(sample_weight, "float32")
    return zero_masked(bits, weights > 0), zero_masked(logits, weights > 0), weights
