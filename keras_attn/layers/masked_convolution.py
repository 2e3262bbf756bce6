"""Convolutions over sequences with padding."""

import keras

from keras_attn.checks import check_sizes
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.ops.allow_empty_batch import allow_empty_batch
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class MaskedConvolution(MaskedLayer):
    """A convolution over a sequence that reads padding as zeros, so that more changes nothing.

        h_t = f(W [x_{t−k/2} … x_{t+k/2}] + b),  x_s = 0 where the mask is False

    Keras' `Conv1D` reads whatever the padding was embedded as.

    Args:
        filters: int > 0. F.
        kernel_size: int > 0. k, in positions.
        activation: f, as in Keras.

    Call arguments:
        inputs: float (B, S, D).
        mask: bool (B, S); True = real. Filled in by Keras.

    Returns:
        (B, S, F), compute dtype, with the mask.

    Raises:
        ValueError: filters or kernel_size < 1.

    Example:
        >>> tuple(MaskedConvolution(7, 3)(ops.ones((2, 11, 5))).shape)
        (2, 11, 7)

    Source: Kim 2014, arXiv:1408.5882, 2.
    """

    custom_config = ("activation",)

    def __init__(self, filters, kernel_size, activation="relu", **kwargs):
        super().__init__(**kwargs)
        check_sizes(filters=filters, kernel_size=kernel_size)
        self.filters, self.kernel_size = filters, kernel_size
        self.activation = keras.activations.get(activation)
        self.convolution = keras.layers.Conv1D(
            filters,
            kernel_size,
            padding="same",
            activation=self.activation,
            name="convolution",
            dtype=self.dtype_policy,
        )

    def build(self, inputs_shape):
        self.convolution.build(inputs_shape)

    def call(self, inputs, mask=None):
        mask = sequence_mask(inputs, mask=mask)
        return carry_mask(allow_empty_batch(self.convolution, zero_masked(inputs, mask)), mask)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.filters)

    def get_config(self):
        activation = keras.activations.serialize(self.activation)
        return {**super().get_config(), "activation": activation}
