"""The residual connection and normalization around a sublayer."""

import keras

from keras_attn.ops.check_choice import check_flag, check_probability


class Residual(keras.layers.Layer):
    """Residual connection around f, in two halves: LN(x + dropout(f(x))) or x + dropout(f(LN(x))).

        outputs = residual.leave(x, f(residual.enter(x)))

    Args:
        normalize_first: bool. Whether f reads LN(x); False is as in the paper.
        dropout: probability. On f's output.
        epsilon: float > 0. Added to the variance.

    Raises:
        ValueError: normalize_first is not a bool; dropout outside [0, 1); epsilon ≤ 0.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1 and 5.4; normalize_first as in the authors'
    later code and Xiong et al. 2020, arXiv:2002.04745.
    """

    def __init__(self, normalize_first=False, dropout=0.0, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        check_flag("normalize_first", normalize_first)
        check_probability("dropout", dropout)
        if not epsilon > 0:
            raise ValueError(f"Expected epsilon > 0. Received: epsilon={epsilon}")
        self.normalize_first = normalize_first
        self.normalization = keras.layers.LayerNormalization(
            epsilon=epsilon, name="normalization", dtype=self.dtype_policy
        )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        self.normalization.build(inputs_shape)

    def enter(self, inputs):
        """The input of the sublayer."""
        return self.normalization(inputs) if self.normalize_first else inputs

    def leave(self, inputs, outputs, training=None):
        """The output of the block, from the inputs and the sublayer's outputs."""
        outputs = inputs + self.dropout(outputs, training=training)
        return outputs if self.normalize_first else self.normalization(outputs)
