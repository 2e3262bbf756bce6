"""Hard attention of a recurrent decoder to a picture's grid: one sampled location per step."""

import keras
from keras import ops

from keras_attn.layers.location_sampler import held_sampler
from keras_attn.models.captioner.grid_attention import GridAttention


@keras.saving.register_keras_serializable(package="keras_attn")
class HardAttention(GridAttention):
    """Stochastic "hard" attention: one location per step, z_t = β_t a_{s_t}, s_t ~ α_t.

    In training locations are sampled, and the weights are trained as the sampler says; a share of
    the pictures uses the expectation Σ_i α_ti a_i instead. In evaluation the most likely location
    is used, with weight 1.

    Args:
        units: int > 0. Width of the hidden score layer.
        sampler: `LocationSampler`, or None for one with its defaults.

    Raises:
        ValueError: something else in place of the sampler.

    Source: Xu et al. 2015, arXiv:1502.03044, 4.1.
    """

    def __init__(self, units, sampler=None, **kwargs):
        super().__init__(units, **kwargs)
        self.sampler = held_sampler(sampler, self.dtype_policy)

    def build(self, features_shape, hidden_shape):
        super().build(features_shape, hidden_shape)
        if not self.sampler.built:
            self.sampler.build()

    def draws(self, memory, captions, length):
        features = memory["features"]
        return self.sampler.draws(length, ops.shape(features)[0], features.shape[1], captions)

    def read(self, memory, hidden, draw=None):
        features = memory["features"]
        _, weights = self.expected(memory, hidden)
        shares = self.sampler.shares(weights, draw)
        grouped = ops.reshape(shares, (ops.shape(features)[0], -1, features.shape[1]))
        context = ops.matmul(ops.cast(grouped, features.dtype), features)
        context = self.gated(hidden, ops.reshape(context, (-1, features.shape[-1])))
        if draw is None:
            return context, shares, None
        return context, weights, self.sampler.choose(weights, draw)
