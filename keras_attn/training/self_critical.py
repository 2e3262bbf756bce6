"""Self-critical training: sampled captions are made likelier the better they score."""

import base64

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import END_ID, FEATURES, IMAGE, LOGITS, PAD_ID, START_ID, TOKENS
from keras_attn.decoding import Sampling
from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.lazy_tensorflow import tf
from keras_attn.ops.counter_random import derived_seed
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.replicas import first_row, sum_over_replicas
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy
from keras_attn.training.training_stage import TrainingStage, as_it_answers

LOSS, REWARD, PICTURES = "self_critical_loss", "reward", "pictures"
"""Output keys of a training step: this replica's share of the loss, the mean reward of its
pictures, and how many they are."""


@keras.saving.register_keras_serializable(package="keras_attn")
class SelfCritical(TrainingStage):
    """The second stage of a captioner's training, on the metric itself.

    K captions y_k of a picture are sampled; each is compared with the mean of the others:

        A_k = r(y_k) − Σ_{j≠k} r(y_j) / (K − 1)
        loss = −Σ A_k Σ_t log p(y_kt | y_k1 … y_k,t−1) / tokens sampled in the global batch

    The references of a picture are the captions of its batch row. Samples and
    probabilities are those of the model as it answers, without dropout. A sample is a function of
    the seed, the updates done and the picture's place in the global batch.

    The logs of a step have "loss" and "reward", the mean over samples; validation uses the compiled
    loss and metrics. On TensorFlow, steps are never compiled with XLA, because rewards are computed
    in Python.

    Args:
        model: `Captioner`.
        reward: `ConsensusReward` of the training pictures' captions.
        tokenizer: `Tokenizer`.
        samples: int ≥ 2. K.
        max_length: int ≥ 1. Longest sample in pieces, end included.
        seed: int.

    Raises:
        ValueError: samples < 2, max_length < 1, no reward or tokenizer, or no model of an encoder
            and a decoder.

    Source: Rennie et al. 2017, arXiv:1612.00563. Differs: the baseline is the mean of the other
    samples, as in Luo 2020, arXiv:2003.09971, and not the greedy caption; log-probabilities are
    divided by the tokens of the batch.
    """

    custom_config = ("reward", "tokenizer")

    def __init__(self, model, reward, tokenizer, samples=5, max_length=40, seed=0, **kwargs):
        super().__init__(model, **kwargs)
        check_sizes(least=2, samples=samples)
        check_sizes(max_length=max_length)
        if not isinstance(reward, ConsensusReward):
            raise ValueError(f"Expected a ConsensusReward. Received: reward={reward!r}")
        if not hasattr(tokenizer, "decode"):
            raise ValueError(f"Expected a Tokenizer. Received: tokenizer={tokenizer!r}")
        self.reward, self.tokenizer, self.samples = reward, tokenizer, samples
        self.max_length, self.seed = max_length, seed
        self.mean_reward = keras.metrics.Mean(REWARD)

    @property
    def jit_compile(self):
        """Whether steps are compiled; on TensorFlow never, whatever `compile` was told."""
        return keras.backend.backend() != "tensorflow" and super().jit_compile

    @jit_compile.setter
    def jit_compile(self, value):
        keras.Model.jit_compile.fset(self, value)

    def trained(self, batch, step):
        """See `TrainingStage`: the loss of samples, and their reward."""
        if FEATURES not in batch and not self.model.encoder.trainable:
            features = ops.stop_gradient(self.model.encode(batch[IMAGE], training=False))
            batch = {TOKENS: batch[TOKENS], FEATURES: features}
        tokens, rewards, real = self.played(batch, step)
        sums = ops.sum(zero_masked(ops.mean(rewards, axis=1), real > 0))
        mean = sums / ops.maximum(ops.sum(real), 1.0)
        loss = self.sampled_loss(batch, tokens, rewards, real)
        return {LOSS: loss, REWARD: mean, PICTURES: ops.sum(real)}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of samples in training; as it was compiled in validation."""
        if LOSS in y_pred:
            added = [self._aggregate_additional_loss(loss) for loss in self.losses]
            return y_pred[LOSS] + sum(added) if added else y_pred[LOSS]
        return super().compute_loss(x, y, y_pred, sample_weight, training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Loss and reward in training; what was compiled in validation."""
        if LOSS not in y_pred:
            return super().compute_metrics(x, y, y_pred, sample_weight)
        pictures = sum_over_replicas(y_pred[PICTURES])
        total = sum_over_replicas(y_pred[REWARD] * y_pred[PICTURES])
        self.mean_reward.update_state(total / ops.maximum(pictures, 1.0), pictures)
        (loss,) = (metric for metric in self.metrics if metric.name == "loss")
        return {"loss": loss.result(), REWARD: self.mean_reward.result()}

    def get_metrics_result(self):
        """What was compiled; Keras asks before validation has built it."""
        metrics = self.metrics
        if not all(getattr(metric, "built", True) for metric in metrics):
            return {}
        return {key: value for key, value in super().get_metrics_result().items() if key != REWARD}

    def played(self, batch, step):
        """Samples captions of a batch and rewards them.

        Args:
            batch: dict with TOKENS int32 (B, C, T) and what `model.start` reads.
            step: int scalar. Updates done.

        Returns:
            tokens: int32 (B, K, T), as long as the longest sample; on JAX max_length.
            rewards: float32 (B, K).
            real: float32 (B,), 0 for padding rows.
        """
        gold = ops.cast(batch[TOKENS], "int32")
        rows = ops.shape(gold)[0]
        places = first_row(rows) + ops.arange(rows, dtype="int32")
        seeds = derived_seed(derived_seed(self.seed, ops.cast(step, "int32")), places)
        strategy = Sampling(seed=seeds, n=self.samples)

        def sampled():
            return self.model.generate(batch, strategy, self.max_length, with_weights=False)

        answer = as_it_answers(self.model, sampled)
        rewards = self._rewarded(answer.tokens, gold)
        tokens = answer.tokens
        if keras.backend.backend() != "jax":
            tokens = tokens[..., : ops.max(answer.lengths)]
        return tokens, rewards, ops.cast(ops.any(gold != PAD_ID, axis=(1, 2)), "float32")

    def sampled_loss(self, batch, tokens, rewards, real):
        """This replica's share of the loss of samples; arguments as `played` returns them."""
        others = ops.sum(rewards, axis=1, keepdims=True) - rewards
        advantage = zero_masked(rewards - others / (self.samples - 1), real > 0)
        starts = ops.full_like(tokens[..., :1], START_ID)
        inputs = ops.concatenate([starts, tokens[..., :-1]], axis=-1)
        logits = self.model({**batch, TOKENS: inputs}, training=False)[LOGITS]
        counted = ops.logical_and(tokens != PAD_ID, (real > 0)[:, None, None])
        losses = smoothed_cross_entropy(tokens, ops.cast(logits, "float32"))
        count = sum_over_replicas(ops.sum(ops.cast(counted, "float32")))
        losses = zero_masked(advantage[..., None] * losses, counted)
        return ops.sum(losses) / ops.maximum(count, 1.0)

    def _rewarded(self, tokens, gold):
        """float32 (B, K): rewards of samples (B, K, T) by captions (B, C, T), in Python."""
        if keras.backend.backend() == "jax":
            import jax

            shape = jax.ShapeDtypeStruct(tokens.shape[:2], "float32")
            return jax.pure_callback(self._rewards, shape, tokens, gold)
        if keras.backend.backend() == "torch":
            arrays = map(ops.convert_to_numpy, (tokens, gold))
            return ops.convert_to_tensor(self._rewards(*arrays))
        rewards = tf.numpy_function(self._rewards, (tokens, gold), tf.float32, stateful=False)
        return tf.ensure_shape(rewards, (gold.shape[0], self.samples))

    def _rewards(self, tokens, gold):
        """int32 (B, K, T) and (B, C, T), PAD_ID where there is nothing -> NumPy float32 (B, K)."""
        tokens, gold = np.asarray(tokens), np.asarray(gold)
        ended = np.any(tokens == END_ID, axis=-1)
        rewards = [
            self.reward.scores(
                self.tokenizer.decode_all(samples),
                [text for text in self.tokenizer.decode_all(truth[:, 1:]) if text],
                stopped,
            )
            for samples, stopped, truth in zip(tokens, ended, gold)
        ]
        return np.array(rewards, "float32").reshape(tokens.shape[:2])

    def get_config(self):
        config = {
            "reward": self.reward.get_config(),
            "tokenizer": {
                "model": base64.b64encode(self.tokenizer.model).decode(),
                "lowercase": self.tokenizer.lowercase,
            },
        }
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        from keras_attn.text.tokenizer import Tokenizer  # It needs tensorflow-text.

        learned = config["tokenizer"]
        objects = {
            "model": keras.saving.deserialize_keras_object(config["model"]),
            "reward": ConsensusReward.from_config(config["reward"]),
            "tokenizer": Tokenizer(base64.b64decode(learned["model"]), learned["lowercase"]),
        }
        return cls(**{**config, **objects})
