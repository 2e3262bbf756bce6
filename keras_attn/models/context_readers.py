"""What a recurrent decoder reads from the picture at each step: the context vector."""

import keras
from keras import ops

from keras_attn.layers.additive_attention import AdditiveAttention


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionReader(keras.layers.Layer):
    """Soft additive attention over the grid, scaled by a gate: z_t = β_t Σ_i α_ti a_i.

        e_ti = v · tanh(W h_{t−1} + U a_i),  α_t = softmax(e_t),  β_t = sigmoid(w · h_{t−1} + b)

    Args:
        units: int > 0. Width of the hidden score layer.

    Source: Xu et al. 2015, arXiv:1502.03044, 3.1.2 and 4.2.1.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.attention = AdditiveAttention(units, name="attention", dtype=self.dtype_policy)
        self.gate = keras.layers.Dense(1, name="gate", dtype=self.dtype_policy)

    def build(self, features_shape, hidden_shape):
        self.attention.build(hidden_shape, features_shape)
        self.gate.build(hidden_shape)

    def context_units(self, feature_units, hidden_units):
        """Width of the context vector."""
        return feature_units

    def start(self, features, hidden):
        """Memory of one picture, every leaf leading with B.

        Args:
            features: float (B, S, D).
            hidden: float (B, H). h₀.
        """
        return {"features": features, "keys": self.attention.project_keys(features)}

    def read(self, memory, hidden):
        """Context and weights for every hypothesis.

        Args:
            memory: what `start` returned, for B pictures.
            hidden: float (N, H), N = B·K; the K hypotheses of one picture are neighbors.

        Returns:
            context: float (N, D).
            weights: float32 (N, S).
        """
        features, keys = memory["features"], memory["keys"]
        batch, width = ops.shape(features)[0], hidden.shape[-1]
        query = ops.reshape(hidden, (batch, -1, width))
        context, weights = self.attention.attend(query, keys, features)
        context = ops.reshape(context, (-1, features.shape[-1]))
        weights = ops.reshape(weights, (-1, features.shape[1]))
        return ops.cast(ops.sigmoid(self.gate(hidden)), context.dtype) * context, weights

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="keras_attn")
class BottleneckReader(keras.layers.Layer):
    """No attention: the context of every step is the decoder's initial state h₀.

    The picture reaches the words through one vector only; the weights it reports are uniform.

    Source: the encoder–decoder of Sutskever et al. 2014, arXiv:1409.3215, and Vinyals et al. 2015,
    arXiv:1411.4555. Differs: the vector is shown at every step, not only at the first.
    """

    def build(self, features_shape, hidden_shape):
        self.locations = features_shape[1]

    def context_units(self, feature_units, hidden_units):
        """Width of the context vector."""
        return hidden_units

    def start(self, features, hidden):
        """Memory of one picture: h₀, float (B, H)."""
        return {"initial": hidden}

    def read(self, memory, hidden):
        """As `AttentionReader.read`, with context (N, H)."""
        initial = memory["initial"]
        width = initial.shape[-1]
        grouped = ops.reshape(hidden, (ops.shape(initial)[0], -1, width))
        context = ops.broadcast_to(initial[:, None], ops.shape(grouped))
        weights = ops.ones_like(hidden[:, :1], dtype="float32") / self.locations
        return ops.reshape(context, (-1, width)), ops.repeat(weights, self.locations, axis=1)
