"""Base of attentions of a recurrent decoder to a picture's grid.

Such an attention has `context_dim`, `start`, `draws` and `read`. `draws` makes the random numbers
of a whole caption before the loop over its steps; one that is deterministic has none.
"""

import keras
from keras import ops

from keras_attn.layers.additive_attention import AdditiveAttention
from keras_attn.layers.base_layer import BaseLayer


class GridAttention(BaseLayer):
    """Abstract: gated additive attention over the grid. Subclasses read it.

    Args:
        units: int > 0. Width of the hidden score layer.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.attention = AdditiveAttention(units, name="attention", dtype=self.dtype_policy)
        self.gate = keras.layers.Dense(1, name="gate", dtype=self.dtype_policy)

    def build(self, features_shape, hidden_shape):
        self.attention.build(hidden_shape, features_shape)
        self.gate.build(hidden_shape)

    def context_dim(self, feature_dim, hidden_dim):
        """Width of the context vector."""
        return feature_dim

    def start(self, features, hidden):
        """Memory of one picture, every leaf leading with B.

        Args:
            features: float (B, S, D).
            hidden: float (B, H). h₀.
        """
        return {"features": features, "keys": self.attention.project_keys(features)}

    def draws(self, memory, captions, length):
        """Random numbers for `read`: structure of tensors (T, N, ...), or None if none are used.

        Args:
            memory: what `start` returned, for B pictures.
            captions: int. C, captions of each picture; N = B·C.
            length: int. T.
        """
        raise NotImplementedError

    def read(self, memory, hidden, draw=None):
        """Context and weights for every hypothesis.

        Args:
            memory: what `start` returned, for B pictures.
            hidden: float (N, H), N = B·K; the K hypotheses of one picture are neighbors.
            draw: one step of `draws`, in training.

        Returns:
            context: float (N, D).
            weights: float32 (N, S).
            location: int32 (N,), the sampled location or EXPECTED; None without a draw.
        """
        raise NotImplementedError

    def expected(self, memory, hidden):
        """Gated context (N, D) and weights (N, S) of `read`'s arguments: z_t = β_t Σ_i α_ti a_i."""
        features, keys = memory["features"], memory["keys"]
        batch, width = ops.shape(features)[0], hidden.shape[-1]
        query = ops.reshape(hidden, (batch, -1, width))
        context, weights = self.attention.attend(query, keys, features)
        context = ops.reshape(context, (-1, features.shape[-1]))
        weights = ops.reshape(weights, (-1, features.shape[1]))
        return self.gated(hidden, context), weights

    def gated(self, hidden, context):
        """The context, scaled by β = sigmoid(w · h_{t−1} + b)."""
        return ops.cast(ops.sigmoid(self.gate(hidden)), context.dtype) * context
