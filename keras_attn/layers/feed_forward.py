"""The position-wise feed-forward net."""

import math
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_flag, check_probability, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.projections import Projections
from keras_attn.ops.linear import EXTRA, as_rows, linear, loop_kernel, rows_as

RELU, GELU, GELU_TANH, QUICK_GELU = "relu", "gelu", "gelu_tanh", "quick_gelu"
ACTIVATIONS = (RELU, GELU, GELU_TANH, QUICK_GELU)


class FeedForwardKernels(NamedTuple):
    """The weights of a `FeedForward`, cast once: hidden (D, F), (F,), output (F, D), (D,).

    Those of a gated one are hidden (D, 2F), (2F,), the gate's first; without biases they are None.
    """

    hidden: Any
    hidden_bias: Any
    output: Any
    output_bias: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class FeedForward(Projections, BaseLayer):
    """The position-wise feed-forward net: f(x W_1 + b_1) W_2 + b_2.

    Gated, it is (f(x W_g + b_g) ⊙ (x W_1 + b_1)) W_2 + b_2: SwiGLU with "silu", GEGLU with "gelu".

    Args:
        intermediate_dim: int > 0. Width F of the hidden layer.
        dropout: probability. On the hidden layer; 0 in the paper.
        activation: f. "relu", max(0, x) as in the paper; "gelu", x · Φ(x) by the error function;
            "gelu_tanh", its approximation ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))); "quick_gelu",
            x · σ(1.702 x); or another of Keras' activations, by name or as a function.
        kernel_initializer: Keras initializer of the kernels.
        gated: bool. Whether f of a second product multiplies the hidden layer.
        use_bias: bool. Whether the products have biases; the papers of gated nets have none.

    Call arguments:
        inputs: float (..., D).

    Returns:
        (..., D), compute dtype, with the inputs' mask.

    Raises:
        ValueError: intermediate_dim < 1; dropout outside [0, 1); an unknown activation.

    Example:
        >>> tuple(FeedForward(7)(ops.ones((2, 3, 5))).shape)
        (2, 3, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.3; "gelu", "gelu_tanh" and "quick_gelu"
    Hendrycks and Gimpel 2016, arXiv:1606.08415; gated Shazeer 2020, arXiv:2002.05202, 2.
    """

    custom_config = ("activation",)
    projections = ("gate_kernel", "hidden_kernel", "output_kernel")

    def __init__(
        self,
        intermediate_dim,
        dropout=0.0,
        activation=RELU,
        kernel_initializer="glorot_uniform",
        gated=False,
        use_bias=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(intermediate_dim=intermediate_dim)
        self.gated, self.use_bias = check_flag("gated", gated), check_flag("use_bias", use_bias)
        check_probability("dropout", dropout)
        self.supports_masking = True
        self.intermediate_dim, self.dropout = intermediate_dim, dropout
        self.activation = activation
        self._function = activation_function(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        # Not a Dropout layer: Keras quantizes a layer only if it has none inside.
        self.seed_generator = keras.random.SeedGenerator() if dropout else None

    def build(self, inputs_shape):
        units = inputs_shape[-1]
        self.gate_kernel = self.gate_bias = None
        if self.gated:
            self.gate_kernel = self._kernel((units, self.intermediate_dim), "gate_kernel")
            self.gate_bias = self._bias(self.intermediate_dim, "gate_bias")
        self.hidden_kernel = self._kernel((units, self.intermediate_dim), "hidden_kernel")
        self.output_kernel = self._kernel((self.intermediate_dim, units), "output_kernel")
        self.hidden_bias = self._bias(self.intermediate_dim, "hidden_bias")
        self.output_bias = self._bias(units, "output_bias")

    def _kernel(self, shape, name):
        return self.add_kernel(shape, name, self.kernel_initializer)

    def _bias(self, units, name):
        if not self.use_bias:
            return None
        return self.add_weight(shape=(units,), initializer="zeros", name=name)

    def kernels(self):
        """`FeedForwardKernels` as they are; see `loop_kernels`."""
        hidden, output = self.matrix("hidden_kernel"), self.matrix("output_kernel")
        hidden_bias, output_bias = self._vector(self.hidden_bias), self._vector(self.output_bias)
        if self.gated:
            hidden = ops.concatenate([self.matrix("gate_kernel"), hidden], axis=1)
            if self.use_bias:
                hidden_bias = ops.concatenate([self._vector(self.gate_bias), hidden_bias])
        kernels = FeedForwardKernels(hidden, hidden_bias, output, output_bias)
        return kernels._replace(**self.factors)

    def _vector(self, bias):
        return None if bias is None else ops.cast(bias, self.compute_dtype)

    def loop_kernels(self):
        """`FeedForwardKernels` for a decoding loop, made once before it, with padded columns for
        fast products of few rows."""
        kernels = self.kernels()
        if self.factors:
            return kernels
        hidden, hidden_bias, output, output_bias = kernels
        return FeedForwardKernels(
            loop_kernel(hidden),
            None if hidden_bias is None else loop_kernel(hidden_bias),
            loop_kernel(output, rows=0 if self.gated else EXTRA),
            None if output_bias is None else loop_kernel(output_bias),
        )

    def apply(self, inputs, kernels, training=None):
        """Like the call, with precomputed kernels."""
        hidden = linear(as_rows(inputs), kernels.hidden, kernels.hidden_bias)
        if self.gated:
            units = self.intermediate_dim
            hidden = self._function(hidden[:, :units]) * hidden[:, units : 2 * units]
        else:
            hidden = self._function(hidden)
        if training and self.seed_generator is not None:
            hidden = keras.random.dropout(hidden, self.dropout, seed=self.seed_generator)
        outputs = linear(hidden, kernels.output, kernels.output_bias, inputs.shape[-1])
        return rows_as(inputs, outputs)

    def call(self, inputs, training=None):
        return self.apply(inputs, self.kernels(), training)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "activation": _config(self.activation)}


def _gelu(inputs):
    """x · Φ(x), in the order of operations that TensorFlow fuses with the product before it."""
    return (ops.erf(inputs * math.sqrt(0.5)) + 1.0) * 0.5 * inputs


def _quick_gelu(inputs):
    """x · σ(1.702 x)."""
    return inputs * ops.sigmoid(1.702 * inputs)


_FUNCTIONS = {RELU: ops.relu, GELU: _gelu, GELU_TANH: ops.gelu, QUICK_GELU: _quick_gelu}


def activation_function(activation):
    """The function that an activation stands for."""
    if isinstance(activation, str) and activation in _FUNCTIONS:
        return _FUNCTIONS[activation]
    try:
        return keras.activations.get(activation)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Expected an activation in {ACTIVATIONS} or one of Keras'. "
            f"Received: activation={activation!r}"
        ) from error


def _config(activation):
    """The config from which `activation_function` restores the function."""
    if activation is None or isinstance(activation, str | dict):
        return activation
    return keras.activations.serialize(activation)
