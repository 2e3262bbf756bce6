"""Scheduled sampling equals a slow twin, teacher forcing at ε = 1 and greedy decoding at ε = 0."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import LOGITS, PAD_ID, START_ID, TOKENS
from keras_attn.decoding import Beam, Greedy, Sampling, decode
from keras_attn.ops.counter_random import counter_uniform, derived_seed
from keras_attn.training.gold_shares import ExponentialShare, InverseSigmoidShare, LinearShare
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.resume import Checkpoint
from keras_attn.training.scheduled_sampling import ScheduledSampling
from tests.models import tiny_transformer
from tests.quick import rows
from tests.training import tiny

HALF, NEVER, ALWAYS = LinearShare(0.5), LinearShare(0.0), LinearShare(1.0)


def translation(**changes):
    """A Transformer and a batch with targets and weights; uneven lengths."""
    options = {"seed": 4, "num_layers": 1, "tied": "none", **changes}
    model, batch = tiny_transformer.transformer(**options), tiny_transformer.batch()
    batch[TOKENS][:, 0] = START_ID
    batch[TOKENS][1, 3:] = PAD_ID
    targets = np.pad(batch[TOKENS][:, 1:], [(0, 0), (0, 1)])
    return model, (batch, targets, (targets != PAD_ID).astype("float32"))


def captioning():
    """A captioner with weights at random, so that its words differ."""
    model = tiny.captioner()
    random = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 1.5, weight.shape))
    return model, tiny.batch()


CASES = pytest.mark.parametrize("make", rows([translation, captioning], [captioning]))


def slow_mixed(model, batch, share, seed, step, greedy):
    """One row and one token after another, each from the whole model without a cache."""
    mixed = np.array(batch[TOKENS])
    length = mixed.shape[-1]
    for row, place in enumerate(np.ndindex(mixed.shape[:-1])):
        own_seed = derived_seed(derived_seed(seed, step), row)
        for t in range(1, length):
            if mixed[(*place, t)] == PAD_ID or float(counter_uniform(own_seed, t, 1)) < share:
                continue
            logits = np.array(model({**batch, TOKENS: mixed})[LOGITS], "float64")[(*place, t - 1)]
            chances = np.exp(logits - logits.max())
            chances[[PAD_ID, START_ID]] = 0
            sums = np.cumsum(chances) / chances.sum()
            draw = float(counter_uniform(own_seed, t - 1, 0))
            mixed[(*place, t)] = chances.argmax() if greedy else np.sum(sums <= draw)
    return mixed


@CASES
@pytest.mark.parametrize("strategy", [Greedy(), Sampling()], ids=["greedy", "sampling"])
def test_equals_its_twin(make, strategy):
    model, (batch, *_) = make()
    sampling = ScheduledSampling(model, HALF, strategy, seed=7)
    mixed = tf.function(lambda batch: sampling.mixed(batch, 11), autograph=False)
    tokens = mixed({key: tf.constant(value) for key, value in batch.items()}).numpy()
    expected = slow_mixed(model, batch, 0.5, 7, 11, strategy == Greedy())
    np.testing.assert_array_equal(tokens, expected)
    assert np.any(tokens != batch[TOKENS])
    assert np.all((tokens == PAD_ID) == (batch[TOKENS] == PAD_ID))


@pytest.mark.systems
@CASES
def test_all_gold_is_teacher_forcing(make):
    model, data = make()
    sampling = ScheduledSampling(model, ALWAYS)
    np.testing.assert_array_equal(sampling.mixed(data[0], 3), data[0][TOKENS])
    weights, losses = model.get_weights(), []
    for trained in (model, sampling):
        model.set_weights(weights)
        trained.compile(keras.optimizers.SGD(0.1), TokenCrossEntropy(0.1))
        losses.append([float(trained.train_on_batch(*data)) for _ in range(3)])
    assert losses[0] == losses[1]


@CASES
def test_no_gold_is_greedy_decoding(make):
    model, (batch, *_) = make()
    tokens = np.where(batch[TOKENS] == PAD_ID, START_ID, batch[TOKENS])
    sampled = np.array(
        ScheduledSampling(model, NEVER, Greedy()).mixed({**batch, TOKENS: tokens}, 0)
    )
    greedy = np.array(decode(model, batch, Greedy(), tokens.shape[-1] - 1).tokens)
    sampled = sampled.reshape(len(greedy), -1, tokens.shape[-1])
    assert np.all(sampled[..., 0] == START_ID)
    for captions, expected in zip(sampled[..., 1:], greedy[:, 0]):
        length = np.sum(expected != PAD_ID)
        for caption in captions:
            np.testing.assert_array_equal(caption[:length], expected[:length])
    assert not np.isin(sampled[..., 1:], [PAD_ID, START_ID]).any()
    assert len(np.unique(greedy[greedy != PAD_ID])) > 1


def test_the_share_of_gold_is_as_told():
    model = tiny_transformer.transformer()
    source = np.full((211, 2), 5, "int32")
    gold = np.full((211, 5), 12, "int32")
    sampling = ScheduledSampling(model, LinearShare(0.3), Greedy(), seed=3)
    batch = {"source": source, TOKENS: gold}
    free = np.array(ScheduledSampling(model, NEVER, Greedy()).mixed(batch, 0))
    assert not np.any(free[:, 1:] == 12)
    mixtures = [np.array(sampling.mixed(batch, step)) for step in (0, 1)]
    for mixture in mixtures:
        assert abs(np.mean(mixture[:, 1:2] == 12) - 0.3) < 0.1
    assert np.any(mixtures[0] != mixtures[1])


def train(steps, path):
    model, data = translation(dropout=0.3)
    stage = ScheduledSampling(model, HALF, seed=5)
    stage.compile(keras.optimizers.Adam(0.05), TokenCrossEntropy())
    checkpoint = Checkpoint(path)
    done = checkpoint.restore(stage)
    batches = tf.data.Dataset.from_tensors(data).repeat()
    options = {"steps_per_epoch": steps - done, "shuffle": False, "verbose": 0}
    stage.fit(batches, callbacks=[checkpoint], **options)
    assert int(stage.updates) == steps
    return model.get_weights()


@pytest.mark.slow
def test_a_resumed_training_makes_the_same_choices(tmp_path):
    whole = train(5, tmp_path / "whole.npz")
    for steps in (2, 5):
        stopped = train(steps, tmp_path / "stopped.npz")
    for weight, resumed in zip(whole, stopped):
        np.testing.assert_allclose(weight, resumed, atol=1e-6)
    plain, data = translation(dropout=0.3)
    plain.compile(keras.optimizers.Adam(0.05), TokenCrossEntropy())
    for _ in range(5):
        plain.train_on_batch(*data)
    assert np.abs(plain.get_weights()[0] - whole[0]).max() > 1e-3


@pytest.mark.slow
def test_compiled_by_xla_it_is_the_same():
    model, data = translation()
    weights, losses = model.get_weights(), []
    for jit in (False, True):
        model.set_weights(weights)
        stage = ScheduledSampling(model, HALF, seed=5)
        stage.compile(keras.optimizers.SGD(0.01), TokenCrossEntropy(), jit_compile=jit)
        losses.append([float(stage.train_on_batch(*data)) for _ in range(2)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


class Spy(keras.layers.Layer):
    """Notes whether it was called in training."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def call(self, inputs, training=None):
        self.seen.append(bool(training))
        return inputs


def test_no_layer_trains_while_the_model_chooses():
    model, (batch, *_) = translation()
    spy, step = Spy(), model.decoder.step

    def spied(tokens, memory, state):
        spy(np.zeros((1, 1), "float32"))
        return step(tokens, memory, state)

    model.decoder.step = spied
    ScheduledSampling(model, HALF)(batch, training=True)
    assert spy.seen and not any(spy.seen)


def test_a_stage_has_the_precision_of_its_model():
    keras.config.set_dtype_policy("mixed_float16")
    model = tiny_transformer.transformer()
    keras.config.set_dtype_policy("float32")
    stage = ScheduledSampling(model, HALF)
    stage.compile("adam", TokenCrossEntropy())
    assert type(stage.optimizer).__name__ == "LossScaleOptimizer"


def test_shares():
    for step in (0, 1, 7, 90, 10**6):
        expected = max(0.2, 0.9 - 0.01 * step)
        assert float(LinearShare(0.9, 0.01, 0.2)(step)) == pytest.approx(expected, rel=1e-6)
        assert float(ExponentialShare(0.97)(step)) == pytest.approx(0.97**step, rel=1e-4)
        expected = 13 / (13 + np.exp(min(step / 13, 700)))
        share = float(InverseSigmoidShare(13)(step))
        assert share == pytest.approx(expected, rel=1e-4, abs=1e-30)


def test_one_token_is_gold():
    tokens = np.full((3, 1), START_ID, "int32")
    mixed = ScheduledSampling(tiny_transformer.transformer(), NEVER).mixed({TOKENS: tokens}, 0)
    np.testing.assert_array_equal(mixed, tokens)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"Expected Greedy or Sampling\. Received: strategy=Beam"):
        ScheduledSampling(tiny_transformer.transformer(), HALF, Beam(3))
    with pytest.raises(ValueError, match="Expected a model of an encoder and a decoder"):
        ScheduledSampling(keras.Sequential(), HALF)
    with pytest.raises(ValueError, match=r"such as LinearShare.*Received: share=0\.5"):
        ScheduledSampling(tiny_transformer.transformer(), 0.5)
    with pytest.raises(ValueError, match=r"floor=0\.5, start=0\.3"):
        LinearShare(0.3, floor=0.5)
    with pytest.raises(ValueError, match="k=1"):
        ExponentialShare(1)
    with pytest.raises(ValueError, match=r"k=0\.5"):
        InverseSigmoidShare(0.5)
