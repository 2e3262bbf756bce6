"""Soft attention of a recurrent decoder to a picture's grid."""

import keras

from keras_attn.models.captioner.grid_attention import GridAttention


@keras.saving.register_keras_serializable(package="keras_attn")
class SoftAttention(GridAttention):
    """Soft additive attention over the grid, scaled by a gate: z_t = β_t Σ_i α_ti a_i.

        e_ti = v · tanh(W h_{t−1} + U a_i),  α_t = softmax(e_t),  β_t = sigmoid(w · h_{t−1} + b)

    Args:
        units: int > 0. Width of the hidden score layer.

    Source: Xu et al. 2015, arXiv:1502.03044, 3.1.2 and 4.2.1.
    """

    def draws(self, memory, captions, length):
        return None

    def read(self, memory, hidden, draw=None):
        return *self.expected(memory, hidden), None
