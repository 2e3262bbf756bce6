"""A convolution over a sequence with a gated linear unit."""

import keras
from keras import ops

from keras_attn.checks import check_choice, check_probability, check_sizes
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.weight_normalized_dense import (
    add_normalized_weights,
    normalized_kernels,
    scaled_normal,
)
from keras_attn.ops.gated_convolution import gated_convolution, sequence_windows
from keras_attn.ops.masks import zero_masked

SAME, CAUSAL = "same", "causal"


@keras.saving.register_keras_serializable(package="keras_attn")
class GatedConvolution(MaskedLayer):
    """Dropout, a weight-normalized convolution over a sequence, and a gated linear unit.

        [a_t; b_t] = W [x_{t − r}; …; x_{t + k − 1 − r}] + b,  y_t = a_t ⊗ σ(b_t)

    r = (k − 1)/2 for padding "same", and k − 1 for "causal". Masked positions count as 0. Step by
    step: `kernels` and `empty_buffer` once, then `step`.

    Args:
        filters: int > 0. F, width of the outputs.
        kernel_size: int > 0. k, positions in a window; odd for "same".
        padding: "same", windows about each position; "causal", windows that end with it.
        dropout: probability. On the inputs.
        kernel_initializer: Keras initializer of the directions (k, C, 2·F); None is the paper's,
            N(0, √(4 (1 − dropout)/(k·C))).

    Call arguments:
        inputs: float (B, T, C).
        mask: bool (B, T); True = real. Filled in by Keras.

    Returns:
        (B, T, F), compute dtype, with the inputs' mask.

    Raises:
        ValueError: a size < 1; another padding; an even kernel_size with "same"; dropout outside
            [0, 1); a mask of floats or of another shape.

    Example:
        >>> tuple(GatedConvolution(7, 3, "same")(ops.ones((2, 11, 5))).shape)
        (2, 11, 7)

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.2 and 3.5.
    """

    custom_config = ("dropout",)

    def __init__(
        self,
        filters,
        kernel_size,
        padding,
        dropout=0.0,
        kernel_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(filters=filters, kernel_size=kernel_size)
        check_choice("padding", padding, (SAME, CAUSAL))
        check_probability("dropout", dropout)
        if padding == SAME and kernel_size % 2 == 0:
            raise ValueError(
                f"Expected an odd kernel_size with padding={SAME!r}. "
                f"Received: kernel_size={kernel_size}"
            )
        self.filters, self.kernel_size, self.padding = filters, kernel_size, padding
        self.kernel_initializer = (
            scaled_normal(4 * (1 - dropout))
            if kernel_initializer is None
            else keras.initializers.get(kernel_initializer)
        )
        self.dropout = keras.layers.Dropout(dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, inputs_shape):
        shape = (self.kernel_size, inputs_shape[-1], 2 * self.filters)
        add_normalized_weights(self, shape, self.kernel_initializer)

    def kernels(self):
        """`NormalizedKernels`; made once per decoding loop."""
        return normalized_kernels(self)

    def call(self, inputs, mask=None, training=None):
        mask = sequence_mask(inputs, mask=mask)
        hidden = self.dropout(zero_masked(inputs, mask), training=training)
        before = self.kernel_size - 1 if self.padding == CAUSAL else self.kernel_size // 2
        windows = sequence_windows(hidden, self.kernel_size, before)
        return carry_mask(gated_convolution(windows, *self.kernels()), mask)

    def empty_buffer(self, rows):
        """Zeros (rows, k − 1, C) in place of the inputs before the first."""
        channels = self.kernel.shape[1]
        return ops.zeros((rows, self.kernel_size - 1, channels), self.compute_dtype)

    def step(self, inputs, buffer, kernels):
        """The next position of a causal convolution, without dropout.

        Args:
            inputs: float (N, C).
            buffer: float (N, k − 1, C). The inputs before.
            kernels: what `kernels` returned.

        Returns:
            outputs: (N, F).
            buffer: (N, k − 1, C), a new one.
        """
        window = ops.concatenate([buffer, inputs[:, None, :]], axis=1)
        rows = ops.reshape(window, (-1, self.kernel_size * inputs.shape[-1]))
        return gated_convolution(rows, *kernels), window[:, 1:]

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.filters)

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout.rate}
