"""Token embeddings, and logits by the same table."""

import math

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.linear import Factor, linear


@keras.saving.register_keras_serializable(package="keras_attn")
class ScaledEmbedding(BaseLayer):
    """√D · E[token]; `logits` multiplies by Eᵀ, for tied embeddings.

    The table is initialized with standard deviation 1/√D, so that outputs have standard deviation
    1.

    Args:
        input_dim: int > 0. V, size of the vocabulary.
        output_dim: int > 0. D.
        mask_zero: bool. Whether token 0 is padding, to be masked.

    Call arguments:
        inputs: int (...), tokens.

    Returns:
        (..., D), compute dtype; with mask_zero it carries the mask inputs ≠ 0.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> tuple(ScaledEmbedding(13, 5)(ops.ones((2, 3), "int32")).shape)
        (2, 3, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.4.
    """

    factor: Factor | None = None
    """What takes the place of the `output_kernel`."""

    def __init__(self, input_dim, output_dim, mask_zero=False, **kwargs):
        super().__init__(**kwargs)
        check_sizes(input_dim=input_dim, output_dim=output_dim)
        self.mask_zero = check_flag("mask_zero", mask_zero)
        self.input_dim, self.output_dim = input_dim, output_dim

    def build(self, inputs_shape=None):
        initializer = keras.initializers.RandomNormal(stddev=1 / math.sqrt(self.output_dim))
        shape = (self.input_dim, self.output_dim)
        self.table = self.add_weight(shape=shape, initializer=initializer, name="table")

    def kernel(self):
        """The table (V, D) in the compute dtype; made once per decoding loop."""
        return ops.cast(self.table, self.compute_dtype)

    def output_kernel(self):
        """The kernel of `logits` (D, V) in the compute dtype; made once per decoding loop.

        Inside the loop TensorFlow would fuse the transpose with the product, which is then 5 to 8
        times slower on a CPU without oneDNN.
        """
        return ops.transpose(self.kernel()) if self.factor is None else self.factor

    def embed(self, tokens, kernel):
        """Like the call, with a precomputed table."""
        return ops.take(kernel, tokens, axis=0) * math.sqrt(self.output_dim)

    def logits(self, hidden, kernel):
        """float32 (..., V) from (..., D), by the `output_kernel` and in the compute dtype."""
        return ops.cast(linear(hidden, kernel), "float32")

    def call(self, inputs):
        return self.embed(ops.cast(inputs, "int32"), self.kernel())

    def compute_mask(self, inputs, mask=None):
        """inputs ≠ 0 with mask_zero; else the mask that the inputs carry, if they do."""
        return ops.not_equal(inputs, 0) if self.mask_zero else mask

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape, self.output_dim)
