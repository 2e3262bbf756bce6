"""Contexts of a recurrent decoder without attention, the same at every step."""

import keras
from keras import ops

from keras_attn.ops.cached_attention import hypotheses_of


class FixedContext(keras.layers.Layer):
    """Abstract: one context for all steps, "fixed" in the memory, and uniform weights."""

    def build(self, features_shape, hidden_shape):
        self.locations = features_shape[1]

    def draws(self, memory, captions, length):
        """None: nothing is random."""
        return None

    def read(self, memory, hidden, draw=None):
        """Like `GridAttention.read`."""
        context = memory["fixed"]
        hypotheses = hypotheses_of(ops.shape(hidden)[0], ops.shape(context)[0])
        weights = ops.ones_like(hidden[:, :1], dtype="float32") / self.locations
        weights = ops.repeat(weights, self.locations, axis=1)
        return ops.repeat(context, hypotheses, axis=0), weights, None


@keras.saving.register_keras_serializable(package="keras_attn")
class MeanContext(FixedContext):
    """No attention: the context of every step is the mean feature; the weights are uniform.

    Source: the baseline that soft attention becomes when all its scores are equal.
    """

    def context_dim(self, feature_dim, hidden_dim):
        """Width of the context vector."""
        return feature_dim

    def start(self, features, hidden):
        """Memory of one picture: the mean feature, float (B, D)."""
        return {"fixed": ops.mean(features, axis=1)}


@keras.saving.register_keras_serializable(package="keras_attn")
class BottleneckContext(FixedContext):
    """No attention: the context of every step is the decoder's initial state h₀.

    The only path from picture to words is one vector; the weights are uniform.

    Source: the encoder–decoder of Sutskever et al. 2014, arXiv:1409.3215, and Vinyals et al. 2015,
    arXiv:1411.4555. Differs: the vector is an input of every step, not only of the first.
    """

    def context_dim(self, feature_dim, hidden_dim):
        """Width of the context vector."""
        return hidden_dim

    def start(self, features, hidden):
        """Memory of one picture: h₀, float (B, H)."""
        return {"fixed": hidden}
