"""Scheduled sampling: training on a growing share of the model's own samples."""

from dataclasses import replace

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, TOKENS
from keras_attn.decoding import Candidates, Greedy, Sampling
from keras_attn.ops.counter_random import counter_uniform, derived_seed
from keras_attn.ops.replicas import first_row
from keras_attn.ops.scan import scan
from keras_attn.training.training_stage import TrainingStage, as_it_answers


@keras.saving.register_keras_serializable(package="keras_attn")
class ScheduledSampling(TrainingStage):
    """Decoder inputs of which a share is gold and the rest are the model's own words.

    From left to right, each token after the first is the gold one with probability ε_i, else what
    the model, without dropout, predicts after the mixed tokens before it. Then comes an ordinary
    training step on these inputs; no gradient flows through the choice. Padding stays padding, and
    the targets stay as they are. ε = 1 is teacher forcing, ε = 0 free running.

    The choice is a function of the seed, the updates done and the example's place in the global
    batch: a resumed training makes the same, and two devices make those of one.

    Args:
        model: see `TrainingStage`.
        share: function of the batches trained on, i, to ε_i, such as `InverseSigmoidShare(1000)`.
        strategy: how the model chooses: `Sampling(...)`, whose own seed and n do not count, or
            `Greedy()`; None is `Sampling()`.
        seed: int.

    Raises:
        ValueError: another strategy, a share that is no function, or no model of an encoder and a
            decoder.

    Example:
        >>> from keras_attn.models import Transformer
        >>> from keras_attn.training.gold_shares import LinearShare
        >>> from keras_attn.training.losses import TokenCrossEntropy
        >>> model = Transformer(vocabulary_size=13, num_layers=1, hidden_dim=6)
        >>> stage = ScheduledSampling(model, LinearShare(slope=1e-4, floor=0.2))
        >>> stage.compile("adam", TokenCrossEntropy())

    `stage.fit` trains `model` itself.

    Source: Bengio et al. 2015, arXiv:1506.03099.
    """

    def __init__(self, model, share, strategy=None, seed=0, **kwargs):
        super().__init__(model, **kwargs)
        strategy = Sampling() if strategy is None else strategy
        if not isinstance(strategy, Greedy | Sampling):
            raise ValueError(f"Expected Greedy or Sampling. Received: strategy={strategy!r}")
        if not callable(share):
            raise ValueError(
                "Expected a function of the updates done, such as LinearShare(0.9, 1e-4). "
                f"Received: share={share!r}"
            )
        self.share, self.strategy, self.seed = share, strategy, seed

    def trained(self, batch, step):
        """See `TrainingStage`: what the model answers to mixed inputs."""
        mixed = as_it_answers(self.model, lambda: self.mixed(batch, step))
        return self.model({**batch, TOKENS: mixed}, training=True)

    def mixed(self, batch, step):
        """The decoder's inputs for one training step.

        Args:
            batch: dict with TOKENS int32 (B, T) or (B, C, T), and what `start` reads.
            step: int scalar. Updates done.

        Returns:
            int32, shape of TOKENS.
        """
        stepper, gold = self.model, ops.cast(batch[TOKENS], "int32")
        if gold.shape[-1] == 1:
            return gold
        length = ops.shape(gold)[-1]
        memory, state = stepper.start(batch, length)
        if len(gold.shape) == 3:
            state = stepper.widen(state, gold.shape[1])
        rows = ops.transpose(ops.reshape(gold, (-1, length)))
        predict = self._own_tokens(stepper, memory, ops.shape(rows), step)
        coins = self._coins(ops.shape(rows), step) < self.share(step)
        coins = ops.logical_or(coins, ops.equal(rows, PAD_ID))

        def advance(carry, inputs):
            tokens, state = carry
            time, word, is_gold = inputs
            predicted, state = predict(time, tokens, state)
            tokens = ops.where(is_gold, word, predicted)
            return (tokens, state), (tokens,)

        times = ops.arange(length - 1, dtype="int32")
        _, (chosen,) = scan(advance, (rows[0], state), (times, rows[1:], coins[1:]))
        chosen = ops.concatenate([rows[:1], chosen], axis=0)
        return ops.reshape(ops.transpose(chosen), ops.shape(gold))

    def _own_tokens(self, stepper, memory, shape, step):
        """Function (time, tokens (N,), state) to the model's next tokens (N,) and state."""
        length, rows = shape
        strategy = self.strategy
        if isinstance(strategy, Sampling):
            strategy = replace(strategy, seed=self._seeds(rows, step), n=1)
        beginning = strategy.begin(rows, 1, length)  # At every step, so that none has ended.

        def predict(time, tokens, state):
            result = stepper.step(tokens, memory, state)
            candidates = Candidates(result.logits)
            _, selection = strategy.advance(beginning, candidates, time, length)
            return selection.tokens[:, 0], result.state

        return predict

    def _coins(self, shape, step):
        """float32 (T, N) in [0, 1); `Sampling` draws from the same seeds by another counter."""
        length, rows = shape
        times = ops.arange(length, dtype="int32")[:, None]
        return counter_uniform(self._seeds(rows, step), times, 1)

    def _seeds(self, rows, step):
        """uint32 (N,), one for each row of the global batch."""
        places = first_row(rows) + ops.arange(rows, dtype="int32")
        return derived_seed(derived_seed(self.seed, ops.cast(step, "int32")), places)
