"""Sampled locations of hard attention, and the objective that trains them."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import PAD_ID
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.attend import attention_weights
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.reinforce import leave_one_out, reinforce_objective
from keras_attn.ops.replicas import global_mean, sum_over_replicas
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy

EXPECTED = -1
"""In place of a sampled location: the step used the expectation over all locations."""


@keras.saving.register_keras_serializable(package="keras_attn")
class LocationSampler(BaseLayer):
    """Samples one location s_t ~ α_t per step, and trains the weights α.

    A location is drawn by the Gumbel-max trick from random numbers made before the loop over the
    steps. A share of the examples uses the expectation over all locations instead. There are three
    estimators of the gradient of α:

    - REINFORCE with one sample of each example, whose baseline is a moving average: the paper's.
    - REINFORCE with several, each of which has the mean of the others as its baseline, and a
      location is credited with the words from its own step on. Much less noisy; in training the
      decoder costs K times as much.
    - Straight-through: the gradient of the Gumbel-softmax of the same draw. Biased, with little
      noise, and as cheap as soft attention.

    From random weights all of them learn slowly; begin with those of soft attention. With several
    samples or straight-through take an expectation_share of 0, and a reward_weight of 1 and an
    entropy_weight of 0 for a gradient without bias.

    Args:
        expectation_share: probability that an example uses the expectation.
        reward_weight: float ≥ 0. λ_r.
        entropy_weight: float ≥ 0. λ_e.
        baseline_decay: 0 ≤ float < 1. Of the moving average of log p(y | s).
        seed: int or None. Of the sampling.
        samples: int > 0. K sequences of locations for each example, in training.
        gumbel_temperature: float > 0 or None. τ of the straight-through estimator; None is
            REINFORCE.

    Raises:
        ValueError: a number out of its range; several samples with a temperature.

    Source: Xu et al. 2015, arXiv:1502.03044, 4.1. λ_r = 0.1 and λ_e = 0.002 as in the authors'
    code; `leave_one_out`; Jang et al. 2017, arXiv:1611.01144, 2.2.
    """

    def __init__(
        self,
        expectation_share=0.5,
        reward_weight=0.1,
        entropy_weight=0.002,
        baseline_decay=0.9,
        seed=None,
        samples=1,
        gumbel_temperature=None,
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
        check_sizes(samples=samples)
        if gumbel_temperature is not None and not gumbel_temperature > 0:
            raise ValueError(
                "Expected gumbel_temperature > 0 or None. "
                f"Received: gumbel_temperature={gumbel_temperature}"
            )
        if samples > 1 and gumbel_temperature is not None:
            raise ValueError(
                "Expected one sample with a gumbel_temperature: several are for REINFORCE. "
                f"Received: samples={samples}, gumbel_temperature={gumbel_temperature}"
            )
        self.samples, self.gumbel_temperature = samples, gumbel_temperature
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
        location = ops.argmax(_chances(ops.stop_gradient(weights)) + gumbel, axis=-1)
        return ops.where(expected, EXPECTED, ops.cast(location, "int32"))

    def shares(self, weights, draw=None):
        """What each location contributes to the context.

        1 for the location that is chosen, with the gradient of the straight-through estimator if
        there is one; the weights themselves where an example uses the expectation; 0 where nothing
        may be attended to.

        Args:
            weights: float32 (N, S). Probabilities α.
            draw: (gumbel (N, S), expected (N,)), one step of `draws`; None chooses the most likely
                location.

        Returns:
            float32 (N, S).
        """
        some = ops.any(weights > 0, axis=-1, keepdims=True)
        likeliest = ops.argmax(weights, axis=-1)
        location = likeliest if draw is None else self.choose(weights, draw)
        places = ops.arange(ops.shape(weights)[-1], dtype="int32")
        chosen = ops.logical_and(places == ops.cast(location, "int32")[:, None], some)
        shares = ops.cast(chosen, "float32")
        if draw is None:
            return shares
        gumbel, expected = draw
        if self.gumbel_temperature is not None:
            scores = (_chances(weights) + gumbel) / self.gumbel_temperature
            relaxed = attention_weights(scores, weights > 0)
            shares = shares + (relaxed - ops.stop_gradient(relaxed))
        return ops.where(expected[:, None], weights, shares)

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
        real = ops.cast(targets != PAD_ID, "float32")
        objective = self.objective(-costs, weights, locations, real)
        tokens = sum_over_replicas(ops.sum(real))
        return ops.sum(objective) / ops.maximum(tokens, 1.0)

    def objective(self, log_likelihoods, weights, locations, real):
        """Loss added to the negative log-likelihood, and the baseline update.

            −λ_r (log p(y | s) − b) Σ_t log α_{t, s_t} − λ_e Σ_t H[α_t],  b ← 0.9 b + 0.1 log p

        With several samples the advantage is that of `leave_one_out`; with the straight-through
        estimator there is no first term.

        Args:
            log_likelihoods: float (N, T), log p(y_t | y_<t, s) in nats, 0 for padding. The samples
                of an example are neighbors.
            weights: float32 (N, T, S).
            locations: int32 (N, T), or EXPECTED.
            real: float (N, T), 1 for real steps and 0 for padding.

        Returns:
            float32 (N,), 0 for sequences without real steps.
        """
        reward_weight = self.reward_weight
        if self.gumbel_temperature is not None:
            advantage, reward_weight = ops.zeros_like(log_likelihoods), 0.0
        elif self.samples > 1:
            advantage = leave_one_out(log_likelihoods, self.samples)
        else:
            log_likelihood = ops.sum(log_likelihoods, axis=1)
            advantage = (log_likelihood - self.baseline)[:, None]  # Before the baseline moves.
            self._move_baseline(ops.stop_gradient(log_likelihood), locations, real)
        return reinforce_objective(
            advantage, weights, locations, real, reward_weight, self.entropy_weight
        )

    def _move_baseline(self, log_likelihood, locations, real):
        """Towards the mean over the sampled sequences of the global batch, if there are any."""
        sampled = ops.any(ops.logical_and(locations != EXPECTED, real > 0), axis=1)
        sampled = ops.cast(sampled, "float32")
        mean = sum_over_replicas(global_mean(log_likelihood, sampled))
        some = sum_over_replicas(ops.sum(sampled)) > 0
        moved = self.baseline_decay * self.baseline + (1.0 - self.baseline_decay) * mean
        self.baseline.assign(ops.where(some, moved, ops.convert_to_tensor(self.baseline)))


def _chances(weights):
    """log α, of weights that may be 0."""
    return ops.log(ops.maximum(weights, 1e-30))


def for_samples(attention, tensors, axis):
    """Tensors of sequences, once for each sample that an attention draws of their locations.

    Args:
        attention: layer, with a `sampler` if it samples.
        tensors: structure of tensors with N sequences on an axis, of tensors without this axis,
            which stay as they are, and of None.
        axis: int ≥ 0.

    Returns:
        The same with N·K for N; the samples of a sequence are neighbors.
    """
    samples = attention.sampler.samples if hasattr(attention, "sampler") else 1

    def repeated(part):
        is_whole = part is None or len(part.shape) <= axis
        return part if is_whole else ops.repeat(part, samples, axis=axis)

    return tensors if samples == 1 else keras.tree.map_structure(repeated, tensors)


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
