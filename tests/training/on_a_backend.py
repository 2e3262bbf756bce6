"""What training does on any backend: clipping, rewards, callbacks, hard attention.

Run as `python -m tests.training.on_a_backend FOLDER`, under any Keras backend.
"""

import sys
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.layers import LocationSampler
from keras_attn.models import CaptionDecoder, Captioner, HardAttention, SmallConvEncoder
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training import (
    AverageModel,
    BestModel,
    Checkpoint,
    ClippedAdam,
    ClippedMuon,
    GenerationMetrics,
    SelfCritical,
    TokenCrossEntropy,
)
from tests.training import tiny

CAPTIONS = [["a red dog"], ["a blue cat"], ["two green birds"], ["a dog"]]


def check_clip():
    """The norm of the whole gradient is clipped, and Adam's numbers are those of a clipped one."""
    gradients = [np.float32([3.0, 0.0]), np.float32([0.0, 4.0, 0.0])]
    results = []
    for clip_norm, scale in ((1.0, 1.0), (None, 0.2)):
        variables = [keras.Variable(np.zeros(gradient.shape, "float32")) for gradient in gradients]
        optimizer = ClippedAdam(1.0, clip_norm, slow_layer="none", epsilon=1.0)
        optimizer.build(variables)
        own = [ops.convert_to_tensor(scale * gradient) for gradient in gradients]
        optimizer.apply(own, variables)
        results.append([ops.convert_to_numpy(variable) for variable in variables])
    for variable, expected in zip(*results):
        np.testing.assert_allclose(variable, expected, rtol=1e-5)
    assert abs(results[0][0][0]) > 0.01


def check_accumulated_clip():
    """What is clipped is the mean of the gradients of several batches."""
    variable = keras.Variable(np.zeros(2, "float32"))
    optimizer = ClippedAdam(1.0, 1.0, epsilon=1.0, gradient_accumulation_steps=2)
    optimizer.build([variable])
    for gradient in ([4.0, 0.0], [-3.0, 0.0]):
        optimizer.apply([ops.convert_to_tensor(gradient)], [variable])
    expected = keras.Variable(np.zeros(2, "float32"))
    plain = ClippedAdam(1.0, epsilon=1.0)
    plain.build([expected])
    plain.apply([ops.convert_to_tensor([0.5, 0.0])], [expected])
    np.testing.assert_allclose(variable, expected, atol=1e-6)


def check_muon():
    """A matrix takes the twin's steps inside `fit`."""
    random = np.random.default_rng(5)
    start, inputs, targets = (
        random.normal(size=s).astype("float32") for s in ((3, 5), (7, 3), (7, 5))
    )
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5, use_bias=False)])
    model.layers[0].kernel.assign(start)
    model.compile(ClippedMuon(0.02, matrix_rate=2.0, momentum=0.9), "mse")
    model.fit(inputs, targets, batch_size=7, epochs=3, verbose=0)
    expected, average = start.astype("float64"), 0.0
    for _ in range(3):
        gradient = 2 * inputs.T @ (inputs @ expected - targets) / targets.size
        average = 0.9 * average + gradient
        x = gradient + 0.9 * average
        x /= np.linalg.norm(x)
        for _ in range(5):
            square = x @ x.T
            x = 3.4445 * x - 4.775 * square @ x + 2.0315 * square @ square @ x
        expected = expected - 0.04 * 0.2 * 5**0.5 * x
    np.testing.assert_allclose(model.layers[0].kernel, expected, rtol=1e-4, atol=1e-5)


def check_hard_attention():
    """Sampled attention trains by each estimator; that of one sample moves its baseline."""
    for options in ({}, {"samples": 2}, {"gumbel_temperature": 0.5}):
        reader = HardAttention(5, LocationSampler(expectation_share=0.0, seed=3, **options))
        sizes = {"vocabulary_size": tiny.VOCABULARY, "embedding_dim": 3, "hidden_dim": 7}
        decoder = CaptionDecoder(attention=reader, **sizes)
        model = Captioner(SmallConvEncoder((3,), (3,)), decoder, tiny.SIZE)
        model.build()
        before = [ops.convert_to_numpy(weight) for weight in reader.trainable_weights]
        inputs, targets, weights = tiny.batch()
        model.compile(ClippedAdam(0.01, 1.0), TokenCrossEntropy())
        model.fit(inputs, targets, sample_weight=weights, batch_size=4, verbose=0)
        assert (float(reader.sampler.baseline) < 0) == (not options)
        for weight, first in zip(reader.trainable_weights, before, strict=True):
            assert np.any(ops.convert_to_numpy(weight) != first), (weight.path, options)


def check_rewards(folder):
    """Self-critical training: the reward is logged, and the stage goes on from its files."""
    tokenizer = Tokenizer.learn([caption for own in CAPTIONS for caption in own], 300, True)
    inputs = tokenizer.encode([own[0] for own in CAPTIONS]).to_tensor(0, (4, 8)).numpy()
    tokens = np.pad(inputs, [(0, 0), (1, 0)], constant_values=2)[:, None, :8].astype("int32")
    model = tiny.captioner(tokenizer.vocabulary_size, penalty=0.0)
    images = tiny.batch()[0]["image"]
    stage = SelfCritical(model, ConsensusReward(CAPTIONS), tokenizer, 3, max_length=5, seed=3)
    stage.compile(ClippedAdam(0.01), TokenCrossEntropy())
    data = {"image": images, "tokens": tokens}
    history = stage.fit(data, tokens, batch_size=4, epochs=2, shuffle=False, verbose=0).history
    assert set(history) == {"loss", "reward"} and int(stage.updates) == 2
    stage.save(folder / "stage.keras")
    again = keras.saving.load_model(folder / "stage.keras")
    for trained in (stage, again):
        trained.fit(data, tokens, batch_size=4, shuffle=False, verbose=0)
    for weight, expected in zip(stage.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_allclose(weight, expected, atol=1e-6)
    assert int(again.updates) == 3


def check_callbacks(folder):
    """Callbacks see what was learned: scores, best model, mean and checkpoint."""
    model = tiny.captioner()
    inputs, targets, weights = tiny.batch()
    model.compile(ClippedAdam(0.01), TokenCrossEntropy())
    tokenizer = Tokenizer.learn(["a dog"], 300, True)
    contexts = [inputs["image"]]
    callbacks = [
        GenerationMetrics(
            model, contexts, tokenizer, [["a dog"]] * 4, 5, metrics=lambda *_: {"seen": 1.0}
        ),
        BestModel(folder / "best.keras", "loss"),
        AverageModel(folder / "mean.keras", 2),
        Checkpoint(folder / "checkpoint.npz"),
    ]
    options = {"batch_size": 4, "verbose": 0, "callbacks": callbacks}
    history = model.fit(inputs, targets, sample_weight=weights, epochs=2, **options).history
    assert history["val_seen"] == [1.0, 1.0]
    best = keras.saving.load_model(folder / "best.keras")
    for weight, expected in zip(best.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(weight, expected, atol=1e-7)
    with np.load(folder / "checkpoint.npz") as saved:
        np.testing.assert_allclose(saved["model 0"], model.variables[0], atol=1e-7)


def main(folder):
    check_clip()
    check_accumulated_clip()
    check_muon()
    check_hard_attention()
    check_rewards(Path(folder))
    check_callbacks(Path(folder))


if __name__ == "__main__":
    main(sys.argv[1])
