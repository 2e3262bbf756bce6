"""The position-wise feed-forward net."""

import math
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.layers.scored_attention import check_width
from keras_attn.ops.check_choice import check_choice
from keras_attn.ops.linear import EXTRA, as_rows, linear, loop_kernel, rows_as

RELU, GELU, GELU_TANH = "relu", "gelu", "gelu_tanh"
ACTIVATIONS = (RELU, GELU, GELU_TANH)


class FeedForwardKernels(NamedTuple):
    """The weights of a `FeedForward`, cast once: hidden (D, F), (F,), output (F, D), (D,)."""

    hidden: Any
    hidden_bias: Any
    output: Any
    output_bias: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class FeedForward(keras.layers.Layer):
    """Two layers at each position alike: f(x W_1 + b_1) W_2 + b_2.

    Args:
        hidden_units: int > 0. Width F between the two.
        dropout: probability. On the hidden layer; 0 in the paper.
        kernel_initializer: Keras initializer of W_1 and W_2.
        activation: f. "relu", max(0, x) as in the paper; "gelu", x · Φ(x) by the error function;
            or "gelu_tanh", its approximation ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Call arguments:
        inputs: float (..., D).

    Returns:
        (..., D), compute dtype.

    Raises:
        ValueError: hidden_units < 1; dropout outside [0, 1); another activation.

    Example:
        >>> tuple(FeedForward(7)(ops.ones((2, 3, 5))).shape)
        (2, 3, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.3; "gelu" and "gelu_tanh" Hendrycks and Gimpel
    2016, arXiv:1606.08415.
    """

    def __init__(
        self,
        hidden_units,
        dropout=0.0,
        kernel_initializer="glorot_uniform",
        activation=RELU,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_width("hidden_units", hidden_units)
        if not 0 <= dropout < 1:
            raise ValueError(f"Expected 0 <= dropout < 1. Received: dropout={dropout}")
        check_choice("activation", activation, ACTIVATIONS)
        self.supports_masking = True
        self.hidden_units, self.dropout = hidden_units, dropout
        self.activation = activation
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.hidden_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        units = inputs_shape[-1]
        self.hidden_kernel = self._kernel((units, self.hidden_units), "hidden_kernel")
        self.output_kernel = self._kernel((self.hidden_units, units), "output_kernel")
        self.hidden_bias = self._bias(self.hidden_units, "hidden_bias")
        self.output_bias = self._bias(units, "output_bias")

    def _kernel(self, shape, name):
        initializer = self.kernel_initializer.clone()
        return self.add_weight(shape=shape, initializer=initializer, name=name)

    def _bias(self, units, name):
        return self.add_weight(shape=(units,), initializer="zeros", name=name)

    def kernels(self):
        """`FeedForwardKernels` as they are; see `loop_kernels`."""
        weights = self.hidden_kernel, self.hidden_bias, self.output_kernel, self.output_bias
        return FeedForwardKernels(*(ops.cast(one, self.compute_dtype) for one in weights))

    def loop_kernels(self):
        """`FeedForwardKernels` that a decoding loop takes once, before its first step, with extra
        columns for its products of few rows."""
        hidden, hidden_bias, output, output_bias = self.kernels()
        return FeedForwardKernels(
            loop_kernel(hidden),
            loop_kernel(hidden_bias),
            loop_kernel(output, rows=EXTRA),
            loop_kernel(output_bias),
        )

    def apply(self, inputs, kernels, training=None):
        """As the call, with kernels taken before."""
        hidden = linear(as_rows(inputs), kernels.hidden, kernels.hidden_bias)
        hidden = self.hidden_dropout(_FUNCTIONS[self.activation](hidden), training=training)
        outputs = linear(hidden, kernels.output, kernels.output_bias, inputs.shape[-1])
        return rows_as(inputs, outputs)

    def call(self, inputs, training=None):
        return self.apply(inputs, self.kernels(), training)

    def get_config(self):
        config = {
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "activation": self.activation,
        }
        return {**super().get_config(), **config}


def _gelu(inputs):
    """x · Φ(x), in the order of operations that TensorFlow fuses with the product before it."""
    return (ops.erf(inputs * math.sqrt(0.5)) + 1.0) * 0.5 * inputs


_FUNCTIONS = {RELU: ops.relu, GELU: _gelu, GELU_TANH: ops.gelu}
