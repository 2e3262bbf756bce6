"""Token embeddings, and logits by the same table."""

import math

import keras
from keras import ops

from keras_attn.layers.scored_attention import check_width
from keras_attn.ops.linear import linear


@keras.saving.register_keras_serializable(package="keras_attn")
class ScaledEmbedding(keras.layers.Layer):
    """√D · E[token]; `logits` multiplies by Eᵀ, for tied embeddings.

    The table begins normal with standard deviation 1/√D, so that what comes out has deviation 1.

    Args:
        vocabulary_size: int > 0. V.
        units: int > 0. D.

    Call arguments:
        tokens: int (...).

    Returns:
        (..., D), compute dtype.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> tuple(ScaledEmbedding(13, 5)(ops.ones((2, 3), "int32")).shape)
        (2, 3, 5)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.4.
    """

    def __init__(self, vocabulary_size, units, **kwargs):
        super().__init__(**kwargs)
        check_width("vocabulary_size", vocabulary_size)
        check_width("units", units)
        self.vocabulary_size, self.units = vocabulary_size, units

    def build(self, tokens_shape=None):
        initializer = keras.initializers.RandomNormal(stddev=1 / math.sqrt(self.units))
        shape = (self.vocabulary_size, self.units)
        self.table = self.add_weight(shape=shape, initializer=initializer, name="table")

    def kernel(self):
        """The table (V, D) in the compute dtype; a decoding loop takes it once."""
        return ops.cast(self.table, self.compute_dtype)

    def output_kernel(self):
        """The kernel of `logits` (D, V) in the compute dtype; a decoding loop takes it once.

        Taken inside the loop, TensorFlow would join the transposition with the product, which on a
        CPU without oneDNN has then a fifth to an eighth of its speed.
        """
        return ops.transpose(self.kernel())

    def embed(self, tokens, kernel):
        """As the call, with the table taken before."""
        return ops.take(kernel, tokens, axis=0) * math.sqrt(self.units)

    def logits(self, hidden, kernel):
        """float32 (..., V) from (..., D), by the `output_kernel` and in the compute dtype."""
        return ops.cast(linear(hidden, kernel), "float32")

    def call(self, tokens):
        return self.embed(ops.cast(tokens, "int32"), self.kernel())

    def get_config(self):
        sizes = {"vocabulary_size": self.vocabulary_size, "units": self.units}
        return {**super().get_config(), **sizes}
