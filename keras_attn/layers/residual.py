"""The residual connections and normalizations around sublayers."""

import keras

from keras_attn.checks import check_choice, check_flag, check_probability
from keras_attn.ops.normalize_vectors import LAYER, RMS


class Residual(keras.layers.Layer):
    """Residual connection around f, in two halves: LN(x + dropout(f(x))) or x + dropout(f(LN(x))).

        outputs = residual.leave(x, f(residual.enter(x)))

    Args:
        normalize_first: bool. Whether f reads LN(x); False is as in the paper.
        dropout: probability. On f's output.
        epsilon: float > 0. Added to the variance, or to the mean square.
        normalization: "layer" or "rms", see `make_normalization`; or None for none.

    Raises:
        ValueError: normalize_first is not a bool; dropout outside [0, 1); epsilon ≤ 0; an unknown
            normalization.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1 and 5.4; normalize_first as in the authors'
    later code and Xiong et al. 2020, arXiv:2002.04745.
    """

    def __init__(
        self, normalize_first=False, dropout=0.0, epsilon=1e-6, normalization=LAYER, **kwargs
    ):
        super().__init__(**kwargs)
        check_flag("normalize_first", normalize_first)
        check_probability("dropout", dropout)
        self.normalize_first, self.normalization = normalize_first, None
        if normalization is not None:
            self.normalization = make_normalization(
                normalization, epsilon, name="normalization", dtype=self.dtype_policy
            )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        if self.normalization is not None:
            self.normalization.build(inputs_shape)

    def enter(self, inputs):
        """The input of the sublayer."""
        return self.normalization(inputs) if self.normalize_first else inputs

    def leave(self, inputs, outputs, training=None):
        """The output of the block, from the inputs and the sublayer's outputs."""
        outputs = inputs + self.dropout(outputs, training=training)
        return outputs if self.normalize_first else self.normalization(outputs)


def make_normalization(kind, epsilon, **kwargs):
    """A Keras layer that normalizes the last axis.

        layer: γ ⊙ (x − mean(x)) / √(var(x) + ε) + β,  rms: γ ⊙ x / √(mean(x²) + ε)

    Args:
        kind: "layer" or "rms".
        epsilon: float > 0. ε.
        **kwargs: of the layer.

    Raises:
        ValueError: another kind; epsilon ≤ 0.

    Source: Ba et al. 2016, arXiv:1607.06450; "rms" Zhang and Sennrich 2019, arXiv:1910.07467.
    """
    check_choice("normalization", kind, (LAYER, RMS))
    if not epsilon > 0:
        raise ValueError(f"Expected epsilon > 0. Received: epsilon={epsilon}")
    if kind == RMS:
        layer = keras.layers.RMSNormalization(epsilon=epsilon, **kwargs)
        layer.supports_masking = True  # As LayerNormalization does.
        return layer
    return keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)
