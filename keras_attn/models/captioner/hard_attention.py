"""Hard attention of a recurrent decoder to a picture's grid: one sampled location per step."""

import keras
from keras import ops

from keras_attn.layers.location_sampler import EXPECTED, held_sampler
from keras_attn.models.captioner.grid_attention import GridAttention
from keras_attn.ops.take_by_row import take_by_row


@keras.saving.register_keras_serializable(package="keras_attn")
class HardAttention(GridAttention):
    """Stochastic "hard" attention: one location per step, z_t = β_t a_{s_t}, s_t ~ α_t.

    In training locations are sampled, and the weights are trained by REINFORCE; a share of the
    pictures uses the expectation Σ_i α_ti a_i instead. In evaluation the most likely location is
    used, with weight 1.

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
        expectation, weights = self.expected(memory, hidden)
        if draw is None:
            location = ops.argmax(weights, axis=-1)
            weights = ops.one_hot(location, features.shape[1], dtype="float32")
            return self._looked_at(features, hidden, location), weights, None
        location = self.sampler.choose(weights, draw)
        expected = location == EXPECTED
        sampled = self._looked_at(features, hidden, ops.where(expected, 0, location))
        return ops.where(expected[:, None], expectation, sampled), weights, location

    def _looked_at(self, features, hidden, location):
        """Gated features (N, D) of one location (N,) for every hypothesis."""
        locations = ops.reshape(location, (ops.shape(features)[0], -1))
        chosen_features = take_by_row(features, ops.cast(locations, "int32"))
        return self.gated(hidden, ops.reshape(chosen_features, (-1, features.shape[-1])))
