"""Self-critical training: sampled captions are made likelier the better they score."""

from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_attn.contracts import END_ID, FEATURES, IMAGE, LOGITS, PAD_ID, START_ID, TOKENS
from keras_attn.decoding import Sampling, decode
from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.ops.counter_random import derived_seed
from keras_attn.ops.replicas import first_row, sum_over_replicas
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy
from keras_attn.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class SelfCritical:
    """The second stage of a captioner's training, on the metric itself.

    K captions y_k of a picture are sampled; each is compared with the mean of the others:

        A_k = r(y_k) − Σ_{j≠k} r(y_j) / (K − 1)
        loss = −Σ A_k Σ_t log p(y_kt | y_k1 … y_k,t−1) / tokens sampled in the global batch

    The references of a picture are the captions of its batch row. Samples and
    probabilities are those of the model as it answers, without dropout. A sample is a function of
    the seed, the updates done and the picture's place in the global batch.

    Args:
        reward: `ConsensusReward` of the training pictures' captions.
        tokenizer: `Tokenizer`.
        samples: int ≥ 2. K.
        max_length: int ≥ 1. Longest sample in pieces, end included.
        seed: int.

    Raises:
        ValueError: samples < 2.

    Source: Rennie et al. 2017, arXiv:1612.00563. Differs: the baseline is the mean of the other
    samples, as in Luo 2020, arXiv:2003.09971, and not the greedy caption; log-probabilities are
    divided by the tokens of the batch.
    """

    reward: ConsensusReward
    tokenizer: Tokenizer
    samples: int = 5
    max_length: int = 40
    seed: int = 0

    def __post_init__(self):
        if self.samples < 2:
            raise ValueError(f"Expected samples >= 2. Received: samples={self.samples}")

    def attach(self, model):
        """Lets `model.fit` train on rewards from now on; nothing of it is saved.

        The logs of a step have "loss" and "reward", the mean over samples; validation is as it was
        compiled. Not under XLA, since rewards are computed in Python.

        Args:
            model: `Captioner`, compiled.
        """
        kind = type(model)
        means = [keras.metrics.Mean(name) for name in ("loss", "reward")]

        def train_step(data):
            batch, *_ = keras.utils.unpack_x_y_sample_weight(data)
            if FEATURES not in batch and not model.encoder.trainable:
                batch = {TOKENS: batch[TOKENS], FEATURES: model.encode(batch[IMAGE])}
            tokens, rewards, real = self.played(model, batch, model.optimizer.iterations)
            weights = model.trainable_weights
            with tf.GradientTape() as tape:
                loss = self.loss(model, batch, tokens, rewards, real)
            model.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            means[0].update_state(sum_over_replicas(loss))
            pictures = sum_over_replicas(ops.sum(real))
            total = sum_over_replicas(ops.sum(ops.mean(rewards, axis=1) * real))
            means[1].update_state(total / ops.maximum(pictures, 1.0), pictures)
            return {one.name: one.result() for one in means}

        def reset_metrics():
            kind.reset_metrics(model)
            for one in means:
                one.reset_state()

        def get_metrics_result():
            # Keras asks at the end of an epoch, before validation has built what was compiled.
            built = all(getattr(one, "built", True) for one in model.metrics)
            return kind.get_metrics_result(model) if built else {}

        model.train_step, model.reset_metrics = train_step, reset_metrics
        model.get_metrics_result = get_metrics_result
        model.train_function = None

    def played(self, model, batch, step):
        """Samples captions of a batch and rewards them.

        Args:
            model: `Captioner`.
            batch: dict with TOKENS int32 (B, C, T) and what `model.start` reads.
            step: int scalar. Updates done.

        Returns:
            tokens: int32 (B, K, T), as long as the longest sample.
            rewards: float32 (B, K).
            real: float32 (B,), 0 for rows that only fill the batch.
        """
        gold = ops.cast(batch[TOKENS], "int32")
        rows = ops.shape(gold)[0]
        places = first_row(rows) + ops.arange(rows, dtype="int32")
        seeds = derived_seed(derived_seed(self.seed, ops.cast(step, "int32")), places)
        found = decode(
            model, batch, Sampling(seed=seeds, n=self.samples), self.max_length, with_weights=False
        )
        tokens = found.tokens[..., : ops.max(found.lengths)]
        inputs = (
            self.tokenizer.decode(tokens),
            ops.any(tokens == END_ID, axis=-1),
            self.tokenizer.decode(gold[..., 1:]),
        )
        rewards = tf.numpy_function(self._rewards, inputs, tf.float32, stateful=False)
        rewards = tf.ensure_shape(rewards, (gold.shape[0], self.samples))
        return tokens, rewards, ops.cast(ops.any(gold != PAD_ID, axis=(1, 2)), "float32")

    def loss(self, model, batch, tokens, rewards, real):
        """This replica's share of the loss of samples; arguments as `played` returns them."""
        others = ops.sum(rewards, axis=1, keepdims=True) - rewards
        advantage = (rewards - others / (self.samples - 1)) * real[:, None]
        starts = ops.full_like(tokens[..., :1], START_ID)
        inputs = ops.concatenate([starts, tokens[..., :-1]], axis=-1)
        logits = model({**batch, TOKENS: inputs}, training=False)[LOGITS]
        said = ops.cast(tokens != PAD_ID, "float32") * real[:, None, None]
        losses = smoothed_cross_entropy(tokens, ops.cast(logits, "float32"))
        count = sum_over_replicas(ops.sum(said))
        return ops.sum(advantage[..., None] * losses * said) / ops.maximum(count, 1.0)

    def _rewards(self, captions, ended, references):
        """bytes (B, K), bool (B, K), bytes (B, C), empty where there is none -> float32 (B, K)."""
        found = [
            self.reward.scores(
                [one.decode() for one in own], [one.decode() for one in truth if one], stopped
            )
            for own, stopped, truth in zip(captions, ended, references)
        ]
        return np.array(found, "float32").reshape(captions.shape)
