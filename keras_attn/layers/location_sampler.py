"""Sampled locations of hard attention, and the objective that trains them."""

import keras
from keras import ops

from keras_attn.contracts import PAD_ID
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.reinforce import reinforce_objective
from keras_attn.ops.replicas import global_mean, sum_over_replicas
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy

EXPECTED = -1
"""In place of a sampled location: the step used the expectation over all locations."""


@keras.saving.register_keras_serializable(package="keras_attn")
class LocationSampler(BaseLayer):
    """Samples one location s_t ~ α_t per step, and trains the weights α by REINFORCE.

    A share of the examples uses the expectation over all locations instead. A location is drawn by
    the Gumbel-max trick from random numbers made before the loop over the steps.

    Args:
        expectation_share: probability that an example uses the expectation.
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
        expectation_share=0.5,
        reward_weight=0.1,
        entropy_weight=0.002,
        baseline_decay=0.9,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
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
        self.baseline_decay, self.seed = baseline_decay, seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape=None):
        self.baseline = self.add_weight(
            shape=(), initializer="zeros", trainable=False, dtype="float32", name="baseline"
        )

    def draws(self, length, examples, locations, repeats=1):
        """Random numbers for `choose`, of all steps.

        Args:
            length: int. T.
            examples: int. B.
            locations: int. S.
            repeats: int. Sequences of each example, neighbors, which share the choice between
                sample and expectation; N = B · repeats.

        Returns:
            gumbel: float32 (T, N, S).
            expected: bool (T, N).
        """
        rows = examples * repeats
        uniform = keras.random.uniform(
            (length, rows, locations), 1e-7, 1.0, seed=self.seed_generator
        )
        share = keras.random.uniform((examples,), seed=self.seed_generator)
        expected = ops.repeat(share < self.expectation_share, repeats)
        return -ops.log(-ops.log(uniform)), ops.broadcast_to(expected[None], (length, rows))

    def choose(self, weights, draw):
        """The location of each row, int32 (..., N), or EXPECTED.

        Args:
            weights: float32 (..., N, S). Probabilities α.
            draw: (gumbel (..., N, S), expected (..., N)), of `draws`.
        """
        gumbel, expected = draw
        chances = ops.log(ops.maximum(ops.stop_gradient(weights), 1e-30))
        location = ops.cast(ops.argmax(chances + gumbel, axis=-1), "int32")
        return ops.where(expected, EXPECTED, location)

    def loss(self, targets, logits, weights, locations):
        """The sum of `objective` over sequences, divided by the tokens of the global batch.

        Args:
            targets: int32 (N, T), PAD_ID at the end.
            logits: float32 (N, T, V).
            weights: float32 (N, T, S).
            locations: int32 (N, T), or EXPECTED.

        Returns:
            float32 scalar.
        """
        costs = zero_masked(smoothed_cross_entropy(targets, logits), targets != PAD_ID)
        log_likelihood, real = -ops.sum(costs, axis=1), ops.cast(targets != PAD_ID, "float32")
        objective = self.objective(log_likelihood, weights, locations, real)
        tokens = sum_over_replicas(ops.sum(real))
        return ops.sum(objective) / ops.maximum(tokens, 1.0)

    def objective(self, log_likelihood, weights, locations, real):
        """Loss added to the negative log-likelihood, and the baseline update.

            −λ_r (log p(y | s) − b) Σ_t log α_{t, s_t} − λ_e Σ_t H[α_t],  b ← 0.9 b + 0.1 log p

        Args:
            log_likelihood: float (N,), log p(y | s) of whole sequences in nats.
            weights: float32 (N, T, S).
            locations: int32 (N, T), or EXPECTED.
            real: float (N, T), 1 for real steps and 0 for padding.

        Returns:
            float32 (N,), 0 for sequences without real steps.
        """
        advantage = log_likelihood - self.baseline  # Before the baseline moves.
        self._move_baseline(ops.stop_gradient(log_likelihood), locations, real)
        settings = self.reward_weight, self.entropy_weight
        return reinforce_objective(advantage, weights, locations, real, *settings)

    def _move_baseline(self, log_likelihood, locations, real):
        """Towards the mean over the sampled sequences of the global batch, if there are any."""
        sampled = ops.any(ops.logical_and(locations != EXPECTED, real > 0), axis=1)
        sampled = ops.cast(sampled, "float32")
        mean = sum_over_replicas(global_mean(log_likelihood, sampled))
        some = sum_over_replicas(ops.sum(sampled)) > 0
        moved = self.baseline_decay * self.baseline + (1.0 - self.baseline_decay) * mean
        self.baseline.assign(ops.where(some, moved, ops.convert_to_tensor(self.baseline)))


def held_sampler(sampler, dtype):
    """A `LocationSampler`, or the default one for None.

    Raises:
        ValueError: something else.
    """
    if sampler is None:
        return LocationSampler(name="sampler", dtype=dtype)
    if not isinstance(sampler, LocationSampler):
        raise ValueError(f"Expected a LocationSampler. Received: sampler={sampler!r}")
    return sampler
