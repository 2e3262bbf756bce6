"""The residual connection and normalization around a sublayer."""

import keras

POST, PRE = "post", "pre"


class Residual(keras.layers.Layer):
    """Around a sublayer f, in two halves: LN(x + dropout(f(x))), or x + dropout(f(LN(x))).

        outputs = residual.leave(x, f(residual.enter(x)))

    Args:
        norm: "post", as in the paper, or "pre".
        dropout: probability. On f's output.
        epsilon: float > 0. Added to the variance.

    Raises:
        ValueError: another `norm`; dropout outside [0, 1); epsilon ≤ 0.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1 and 5.4; "pre" as in the authors' later
    program and Xiong et al. 2020, arXiv:2002.04745.
    """

    def __init__(self, norm=POST, dropout=0.0, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        if norm not in (POST, PRE):
            raise ValueError(f"Expected norm {POST!r} or {PRE!r}. Received: norm={norm!r}")
        if not 0 <= dropout < 1:
            raise ValueError(f"Expected 0 <= dropout < 1. Received: dropout={dropout}")
        if not epsilon > 0:
            raise ValueError(f"Expected epsilon > 0. Received: epsilon={epsilon}")
        self.norm = norm
        self.normalization = keras.layers.LayerNormalization(
            epsilon=epsilon, name="normalization", dtype=self.dtype_policy
        )
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape):
        self.normalization.build(inputs_shape)

    def enter(self, inputs):
        """What the sublayer reads."""
        return self.normalization(inputs) if self.norm == PRE else inputs

    def leave(self, inputs, outputs, training=None):
        """What goes on, from the inputs and what the sublayer made of them."""
        outputs = inputs + self.dropout(outputs, training=training)
        return self.normalization(outputs) if self.norm == POST else outputs
