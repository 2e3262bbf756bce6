"""Self-critical training: rewards, the loss beside its slow twin, and that it gets better."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import END_ID, IMAGE, LOGITS, PAD_ID, START_ID, TOKENS
from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.self_critical import SelfCritical
from keras_attn.training.token_accuracy import TokenAccuracy
from tests.processes import run_module
from tests.training import tiny

CAPTIONS = [["a red dog", "the red dog"], ["a blue cat"], ["two green birds", "green birds"]]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.learn([text for own in CAPTIONS for text in own], 300, True)


def make(tokenizer, kind=tiny.captioner, samples=3):
    """Stage and a batch of three pictures and a row of filling."""
    keras.utils.set_random_seed(5)
    inputs = np.full((4, 2, 9), PAD_ID, "int32")
    for row, own in enumerate(CAPTIONS):
        for place, text in enumerate(own):
            ids = tokenizer.encode([text]).to_tensor()[0].numpy()
            ids = [START_ID, *ids[ids != END_ID]]
            inputs[row, place, : len(ids)] = ids
    images = np.random.default_rng(7).integers(0, 256, (4, *tiny.SIZE, 3)).astype("uint8")
    batch = {IMAGE: tf.constant(images), TOKENS: tf.constant(inputs)}
    model = kind(tokenizer.vocabulary_size, penalty=0.0)
    stage = SelfCritical(model, ConsensusReward(CAPTIONS), tokenizer, samples, max_length=7, seed=3)
    return stage, batch


@pytest.mark.parametrize("kind", [tiny.captioner, tiny.transformer_captioner])
def test_equals_its_twin(tokenizer, kind):
    stage, batch = make(tokenizer, kind)
    model = stage.model
    tokens, rewards, real = stage.played(batch, 11)
    tokens, rewards = np.array(tokens), np.array(rewards)
    assert tokens.shape[:2] == rewards.shape == (4, 3) and tokens.shape[2] <= 7
    np.testing.assert_array_equal(real, [1, 1, 1, 0])
    assert np.any(tokens[0] != tokens[1]) and np.any(tokens[0, 0] != tokens[0, 1])
    expected, total, count = np.zeros((4, 3)), 0.0, 0
    for row, place in np.ndindex(3, 3):
        said = tokens[row, place]
        text, ended = tokenizer.decode(said).numpy().decode(), END_ID in said
        expected[row, place] = stage.reward.scores([text], CAPTIONS[row], [ended])[0]
        inputs = np.concatenate([[START_ID], said[:-1]])[None, None]
        single = {IMAGE: batch[IMAGE][row : row + 1], TOKENS: inputs}
        logits = np.array(model(single)[LOGITS], "float64")[0, 0]
        chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        for time in range(np.sum(said != PAD_ID)):
            others = np.mean(np.delete(rewards[row], place))
            total -= (rewards[row, place] - others) * np.log(chances[time, said[time]])
            count += 1
    np.testing.assert_allclose(rewards, expected, atol=1e-5)
    loss = stage.sampled_loss(batch, tf.constant(tokens), tf.constant(rewards), real)
    np.testing.assert_allclose(loss, total / count, rtol=1e-4, atol=1e-6)


@pytest.mark.systems
def test_fit_raises_the_reward(tokenizer):
    stage, batch = make(tokenizer, samples=11)
    model = stage.model
    accuracy = [TokenAccuracy()]
    model.compile(keras.optimizers.Adam(0.02), TokenCrossEntropy(), weighted_metrics=accuracy)
    targets = np.roll(np.array(batch[TOKENS]), -1, axis=-1)
    for row, column in np.ndindex(targets.shape[:2]):
        if np.any(targets[row, column]):
            targets[row, column, np.flatnonzero(targets[row, column] == START_ID)] = PAD_ID
            targets[row, column, np.sum(targets[row, column] != PAD_ID)] = END_ID
    data = tf.data.Dataset.from_tensors((batch, targets, np.float32(targets != PAD_ID))).repeat()
    fit = {
        "steps_per_epoch": 17,
        "shuffle": False,
        "verbose": 0,
    }
    model.fit(data, **fit)
    accuracy = [TokenAccuracy()]
    options = {"weighted_metrics": accuracy, "jit_compile": True}  # Which rewards do not take.
    stage.compile(keras.optimizers.Adam(0.02), TokenCrossEntropy(), **options)
    history = stage.fit(data, validation_data=data, validation_steps=1, epochs=3, **fit).history
    assert set(history) == {"loss", "reward", "val_loss", "val_token_accuracy"}
    assert history["reward"][-1] > 1.2 * history["reward"][0] > 0


@pytest.mark.slow
def test_two_devices_equal_one(tmp_path):
    run_module("tests.training.mirrored_self_critical", tmp_path)
    with np.load(tmp_path / "one.npz") as single, np.load(tmp_path / "mirrored.npz") as mirrored:
        assert set(single.files) == set(mirrored.files) == {"moved", "loss", "reward"}
        for key in single.files:
            np.testing.assert_allclose(single[key], mirrored[key], atol=2e-5, err_msg=key)
        assert np.abs(single["moved"]).max() > 1e-3


def test_bad_arguments(tokenizer):
    with pytest.raises(ValueError, match=r"Expected samples >= 2\. Received: samples=1"):
        SelfCritical(tiny.captioner(), ConsensusReward(CAPTIONS), tokenizer, 1)
    with pytest.raises(ValueError, match=r"Expected max_length >= 1\. Received: max_length=0"):
        SelfCritical(tiny.captioner(), ConsensusReward(CAPTIONS), tokenizer, max_length=0)
    with pytest.raises(ValueError, match=r"Expected a ConsensusReward\. Received: reward=None"):
        SelfCritical(tiny.captioner(), None, tokenizer)
    with pytest.raises(ValueError, match=r"Expected a Tokenizer\. Received: tokenizer=None"):
        SelfCritical(tiny.captioner(), ConsensusReward(CAPTIONS), None)
