"""A linear layer with weight normalization."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.linear import linear
from keras_attn.ops.normalized_kernel import kernel_norms, normalized_kernel


class NormalizedKernels(NamedTuple):
    """Normalized weights in the compute dtype: kernel (..., E) and bias (E,) or None."""

    kernel: Any
    bias: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class WeightNormalizedDense(BaseLayer):
    """A linear layer whose weights are directions times gains: y_e = g_e (v_e · x) / ‖v_e‖ + b_e.

    The gains begin as ‖v_e‖, so that the layer begins as one without normalization.

    Args:
        units: int > 0. E, width of the outputs.
        use_bias: bool. Whether there is a b, at first 0.
        kernel_initializer: Keras initializer of v; None is N(0, √(1/D)) for inputs of width D.

    Call arguments:
        inputs: float (..., D).

    Returns:
        (..., E), compute dtype, with the inputs' mask. Weights are normalized in float32.

    Raises:
        ValueError: units < 1; use_bias is not a bool.

    Example:
        >>> tuple(WeightNormalizedDense(7)(ops.ones((2, 3, 5))).shape)
        (2, 3, 7)

    Source: Salimans and Kingma 2016, arXiv:1602.07868; the initializer Gehring et al. 2017,
    arXiv:1705.03122, 3.5. Differs: no initialization from data.
    """

    def __init__(self, units, use_bias=True, kernel_initializer=None, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.units, self.use_bias = units, check_flag("use_bias", use_bias)
        self.kernel_initializer = (
            scaled_normal(1.0)
            if kernel_initializer is None
            else keras.initializers.get(kernel_initializer)
        )
        self.supports_masking = True

    def build(self, inputs_shape):
        shape = (inputs_shape[-1], self.units)
        add_normalized_weights(self, shape, self.kernel_initializer, self.use_bias)

    def kernels(self):
        """`NormalizedKernels`; made once per decoding loop."""
        return normalized_kernels(self)

    def apply(self, inputs, kernels):
        """Like the call, with precomputed kernels."""
        return linear(inputs, kernels.kernel, kernels.bias)

    def call(self, inputs):
        return self.apply(inputs, self.kernels())

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units)


def scaled_normal(scale):
    """Initializer N(0, √(scale/n)), with n the inputs of an output unit."""
    return keras.initializers.VarianceScaling(scale, "fan_in", "untruncated_normal")


def add_normalized_weights(layer, shape, initializer, use_bias=True):
    """Gives a layer its `kernel` of a shape (..., E), `gain` (E,) and `bias` (E,) or None."""

    def norms(shape, dtype=None):
        return ops.cast(kernel_norms(layer.kernel), dtype or "float32")

    layer.kernel = layer.add_weight(
        shape=shape, initializer=initializer, autocast=False, name="kernel"
    )
    layer.gain = layer.add_weight(shape=shape[-1:], initializer=norms, autocast=False, name="gain")
    layer.bias = None
    if use_bias:
        layer.bias = layer.add_weight(shape=shape[-1:], initializer="zeros", name="bias")


def normalized_kernels(layer):
    """`NormalizedKernels` of a layer with the weights of `add_normalized_weights`."""
    kernel = ops.cast(normalized_kernel(layer.kernel, layer.gain), layer.compute_dtype)
    bias = None if layer.bias is None else ops.cast(layer.bias, layer.compute_dtype)
    return NormalizedKernels(kernel, bias)
