"""Hard attention of a recurrent decoder: one sampled location per step."""

import keras
from keras import ops

from keras_attn.models.soft_attention import SoftAttention
from keras_attn.ops.reinforce import reinforce_objective
from keras_attn.ops.replicas import global_mean, sum_over_replicas
from keras_attn.ops.take_by_row import take_by_row

EXPECTED = -1
"""In place of a sampled location: the step used the expectation over all locations."""


@keras.saving.register_keras_serializable(package="keras_attn")
class HardAttention(SoftAttention):
    """Stochastic "hard" attention: one location per step, z_t = β_t a_{s_t}, s_t ~ α_t.

    In training locations are sampled, and the weights are trained by REINFORCE (`objective`); a
    share of the pictures uses the expectation Σ_i α_ti a_i instead. In evaluation the most likely
    location is used, with weight 1.

    Args:
        units: int > 0. Width of the hidden score layer.
        expectation_share: probability that a picture uses the expectation.
        reward_weight: float ≥ 0. λ_r.
        entropy_weight: float ≥ 0. λ_e.
        baseline_decay: 0 ≤ float < 1. Of the moving average of log p(y | s).
        seed: int or None. Of the sampling.

    Raises:
        ValueError: a number out of its range.

    Source: Xu et al. 2015, arXiv:1502.03044, 4.1. λ_r = 0.1 and λ_e = 0.002 as in the authors'
    code.
    """

    def __init__(
        self,
        units,
        expectation_share=0.5,
        reward_weight=0.1,
        entropy_weight=0.002,
        baseline_decay=0.9,
        seed=None,
        **kwargs,
    ):
        super().__init__(units, **kwargs)
        if not (0 <= expectation_share <= 1 and 0 <= baseline_decay < 1):
            raise ValueError(
                "Expected 0 <= expectation_share <= 1 and 0 <= baseline_decay < 1. Received: "
                f"expectation_share={expectation_share}, baseline_decay={baseline_decay}"
            )
        if min(reward_weight, entropy_weight) < 0:
            raise ValueError(
                "Expected weights >= 0. "
                f"Received: reward_weight={reward_weight}, entropy_weight={entropy_weight}"
            )
        self.expectation_share = expectation_share
        self.reward_weight, self.entropy_weight = reward_weight, entropy_weight
        self.baseline_decay = baseline_decay
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, features_shape, hidden_shape):
        super().build(features_shape, hidden_shape)
        self.baseline = self.add_weight(
            shape=(), initializer="zeros", trainable=False, dtype="float32", name="baseline"
        )

    def draws(self, memory, captions, length):
        batch, locations = ops.shape(memory["features"])[0], memory["features"].shape[1]
        shape = (length, batch * captions, locations)
        uniform = keras.random.uniform(shape, 1e-7, 1.0, seed=self.seed_generator)
        picture = keras.random.uniform((batch,), seed=self.seed_generator)
        expected = ops.repeat(picture < self.expectation_share, captions)
        expected = ops.broadcast_to(expected[None], (length, batch * captions))
        return -ops.log(-ops.log(uniform)), expected

    def read(self, memory, hidden, draw=None):
        features = memory["features"]
        expectation, weights, _ = super().read(memory, hidden)
        if draw is None:
            location = ops.argmax(weights, axis=-1)
            weights = ops.one_hot(location, features.shape[1], dtype="float32")
            return self._looked_at(features, hidden, location), weights, None
        gumbel, expected = draw
        chances = ops.log(ops.maximum(ops.stop_gradient(weights), 1e-30))
        location = ops.cast(ops.argmax(chances + gumbel, axis=-1), "int32")
        sampled = self._looked_at(features, hidden, location)
        context = ops.where(expected[:, None], expectation, sampled)
        return context, weights, ops.where(expected, EXPECTED, location)

    def _looked_at(self, features, hidden, location):
        """Gated features (N, D) of one location (N,) for every hypothesis."""
        locations = ops.reshape(location, (ops.shape(features)[0], -1))
        chosen_features = take_by_row(features, ops.cast(locations, "int32"))
        return self._gated(hidden, ops.reshape(chosen_features, (-1, features.shape[-1])))

    def objective(self, log_likelihood, weights, locations, real):
        """Loss added to the negative log-likelihood, and the baseline update.

            −λ_r (log p(y | s) − b) Σ_t log α_{t, s_t} − λ_e Σ_t H[α_t],  b ← 0.9 b + 0.1 log p

        Args:
            log_likelihood: float (N,), log p(y | s) of whole captions in nats.
            weights: float32 (N, T, S).
            locations: int32 (N, T), or EXPECTED.
            real: float (N, T), 1 for real steps and 0 for padding.

        Returns:
            float32 (N,), 0 for captions without real steps.
        """
        advantage = log_likelihood - self.baseline  # Before the baseline moves.
        self._move_baseline(ops.stop_gradient(log_likelihood), locations, real)
        settings = self.reward_weight, self.entropy_weight
        return reinforce_objective(advantage, weights, locations, real, *settings)

    def _move_baseline(self, log_likelihood, locations, real):
        """Towards the mean over the sampled captions of the global batch, if there are any."""
        sampled = ops.any(ops.logical_and(locations != EXPECTED, real > 0), axis=1)
        sampled = ops.cast(sampled, "float32")
        mean = sum_over_replicas(global_mean(log_likelihood, sampled))
        some = sum_over_replicas(ops.sum(sampled)) > 0
        moved = self.baseline_decay * self.baseline + (1.0 - self.baseline_decay) * mean
        self.baseline.assign(ops.where(some, moved, ops.convert_to_tensor(self.baseline)))

    def get_config(self):
        names = ("expectation_share", "reward_weight", "entropy_weight", "baseline_decay", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
