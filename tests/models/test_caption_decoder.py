"""The caption decoder equals its twin; hard attention's gradient equals the twin's and the exact
expectation's."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.contracts import FEATURES, LOCATIONS, LOGITS, TOKENS, WEIGHTS
from keras_attn.layers.location_sampler import EXPECTED, LocationSampler
from keras_attn.models.captioner.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.fixed_contexts import BottleneckContext, MeanContext
from keras_attn.models.captioner.hard_attention import HardAttention
from keras_attn.models.captioner.soft_attention import SoftAttention
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam
from tests.reference import caption_decoder as twin

LOCATION_COUNT, LENGTH, VOCABULARY = 3, 2, 11
FORCED = 1e9


def decoder(reader, projected=None, seed=0):
    keras.utils.set_random_seed(seed)
    sizes = CaptionDecoderConfig(VOCABULARY, 5, 7, projected, 0.0)
    made = CaptionDecoder(sizes, reader, name="decoder")
    made.build((None, LOCATION_COUNT, 3), (None, None, None))
    random = np.random.default_rng(seed)
    for weight in made.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    return made


def inputs(batch=2, captions=3, length=LENGTH, seed=1):
    random = np.random.default_rng(seed)
    features = random.normal(size=(batch, LOCATION_COUNT, 3)).astype("float32")
    tokens = random.integers(1, VOCABULARY, (batch, captions, length)).astype("int32")
    targets = random.integers(1, VOCABULARY, (batch, captions, length)).astype("int32")
    return features, tokens, targets


@pytest.mark.parametrize(
    ("reader", "context", "projected"),
    [
        (SoftAttention(5), "soft", None),
        (SoftAttention(5), "soft", 13),
        (BottleneckContext(), "bottleneck", 13),
        (MeanContext(), "mean", None),
    ],
)
def test_decoder_equals_its_twin(reader, context, projected):
    made = decoder(reader, projected)
    features, tokens, _ = inputs(length=7)
    logits, weights = made(features, tokens)
    for picture, caption in np.ndindex(tokens.shape[:2]):
        slow = twin.Twin(twin.parameters(made), features[picture], context)
        expected = slow.run(tokens[picture, caption])
        np.testing.assert_allclose(logits[picture, caption], expected[0], atol=1e-5)
        np.testing.assert_allclose(weights[picture, caption], expected[1], atol=1e-5)


def test_hard_attention_reads_the_likeliest_location_in_evaluation():
    made = decoder(HardAttention(5))
    features, tokens, _ = inputs(length=7)
    logits, weights = made(features, tokens, training=False)
    assert set(np.unique(weights)) == {0.0, 1.0}
    for picture, caption in np.ndindex(tokens.shape[:2]):
        slow = twin.Twin(twin.parameters(made), features[picture], "hard")
        locations = np.argmax(weights[picture, caption], -1)
        expected, chances = slow.run(tokens[picture, caption], locations)
        np.testing.assert_allclose(logits[picture, caption], expected, atol=1e-5)
        np.testing.assert_array_equal(np.argmax(chances, -1), locations)


def test_sampled_locations_follow_the_weights():
    made = decoder(HardAttention(5, LocationSampler(expectation_share=0.25, seed=3)))
    features, tokens, _ = inputs(batch=2, captions=1, length=1)
    features, tokens = np.repeat(features, 4001, 0), np.repeat(tokens, 4001, 0)
    _, weights, locations = made(features, tokens, training=True)
    for rows in (slice(0, 4001), slice(4001, None)):
        drawn = ops.convert_to_numpy(locations)[rows, 0, 0]
        assert abs(np.mean(drawn == EXPECTED) - 0.25) < 0.03
        shares = np.bincount(drawn[drawn != EXPECTED], minlength=LOCATION_COUNT)
        np.testing.assert_allclose(shares / shares.sum(), weights[rows][0, 0, 0], atol=0.03)


def test_captions_of_a_picture_share_the_choice_of_the_expectation():
    made = decoder(HardAttention(5, LocationSampler(seed=5)))
    features, tokens, _ = inputs(batch=31)
    _, _, locations = made(features, tokens, training=True)
    expected = ops.convert_to_numpy(locations) == EXPECTED
    assert 0 < expected.mean() < 1
    assert all(row.all() or not row.any() for row in expected)


def force(reader, locations):
    """Makes a reader sample given locations (N, T); a row of EXPECTED takes the expectation."""
    locations = np.asarray(locations)
    noise = FORCED * np.eye(LOCATION_COUNT)[np.maximum(locations, 0)]
    expected = locations.T == EXPECTED
    reader.draws = lambda memory, captions, length: (
        tf.constant(np.swapaxes(noise, 0, 1), "float32"),
        tf.constant(expected),
    )


def model_of(made, penalty=0.0):
    encoder = SmallConvEncoder((3,), (2,), trainable=False)
    model = Captioner(encoder, made, (1, 6), penalty)
    model.build()
    model.compile(ClippedAdam(0.01), TokenCrossEntropy())
    return model


def gradients(model, features, tokens, targets):
    weights = (targets != 0).astype("float32")
    with tf.GradientTape() as tape:
        batch = {FEATURES: tf.constant(features), TOKENS: tf.constant(tokens)}
        output = model(batch, training=True)
        loss = model.compute_loss(batch, tf.constant(targets), output, tf.constant(weights))
    values = [weight.value for weight in model.decoder.trainable_weights]
    return tape.gradient(loss, values), output


def test_gradient_of_sampled_attention_equals_the_twins():
    reader = HardAttention(5, LocationSampler(reward_weight=0.7, entropy_weight=0.3))
    made = decoder(reader)
    model = model_of(made)
    features, tokens, targets = inputs(batch=2, captions=2)
    targets[1, 1, 1:] = tokens[1, 1, 1:] = 0
    forced = [[0, 2], [1, 1], [EXPECTED, EXPECTED], [EXPECTED, EXPECTED]]
    force(reader, forced)
    reader.sampler.baseline.assign(-3.0)
    model_gradients, output = gradients(model, features, tokens, targets)
    np.testing.assert_array_equal(ops.reshape(output[LOCATIONS], (-1, LENGTH)), forced)
    baseline, total = -3.0, int((targets != 0).sum())
    named = twin.parameters(made)

    def slow(named, advantages=None):
        values, likelihoods = [], []
        for row, (picture, caption) in enumerate(np.ndindex(2, 2)):
            length = int((targets[picture, caption] != 0).sum())
            run = twin.Twin(named, features[picture], "hard").run(
                tokens[picture, caption, :length], forced[row][:length]
            )
            wanted = targets[picture, caption, :length]
            likelihoods.append(twin.log_likelihood(run[0], wanted))
            advantage = 0.0 if advantages is None else advantages[row]
            values.append(
                twin.sampled_objective(*run, wanted, forced[row][:length], advantage, 0.7, 0.3)
            )
        return sum(values) / total, np.array(likelihoods)

    likelihoods = slow(named)[1]
    advantages = likelihoods - baseline
    names = twin.names(made)
    for name, gradient in zip(names, model_gradients):
        gradient = ops.convert_to_numpy(tf.convert_to_tensor(gradient))
        for place in list(np.ndindex(gradient.shape))[:: max(1, gradient.size // 5)]:
            ends = []
            for step in (1e-5, -1e-5):
                moved = {key: value.copy() for key, value in named.items()}
                moved[name][place] += step
                ends.append(slow(moved, advantages)[0])
            np.testing.assert_allclose(
                gradient[place], (ends[0] - ends[1]) / 2e-5, atol=2e-5, err_msg=f"{name}{place}"
            )
    expected = 0.9 * baseline + 0.1 * likelihoods[:2].mean()
    np.testing.assert_allclose(float(reader.sampler.baseline.value), expected, rtol=1e-5)


def test_expected_gradient_equals_that_of_the_exact_expectation():
    """Σ_s p(s) · (gradient of one sample) is the gradient of −Σ_s p(s) log p(y | s)."""
    reader = HardAttention(5, LocationSampler(reward_weight=1.0, entropy_weight=0.0))
    made = decoder(reader)
    model = model_of(made)
    features, tokens, targets = inputs(batch=1, captions=1)
    estimate = None
    variables = [weight.value for weight in made.trainable_weights]
    exact = [np.zeros(variable.shape) for variable in variables]
    for locations in itertools.product(range(LOCATION_COUNT), repeat=LENGTH):
        force(reader, [locations])
        reader.sampler.baseline.assign(-1.7)
        sampled, _ = gradients(model, features, tokens, targets)
        with tf.GradientTape() as tape:
            _, weights, _ = made(features, tokens, training=True)
            chance = tf.reduce_prod([weights[0, 0, t, s] for t, s in enumerate(locations)])
            logits = made(features, tokens, training=True)[0][0, 0]
            logs = tf.gather(tf.nn.log_softmax(logits), targets[0, 0], batch_dims=1)
            share = -chance * tf.reduce_sum(logs) / LENGTH
        weighted = [float(chance) * np.array(tf.convert_to_tensor(array)) for array in sampled]
        estimate = weighted if estimate is None else [a + b for a, b in zip(estimate, weighted)]
        exact = [
            a if b is None else a + np.array(tf.convert_to_tensor(b))
            for a, b in zip(exact, tape.gradient(share, variables))
        ]
    assert max(np.abs(array).max() for array in exact) > 0.01
    for gradient, wanted in zip(estimate, exact):
        np.testing.assert_allclose(gradient, wanted, atol=1e-5)


@pytest.mark.parametrize("grouped", [True, False])
def test_samples_of_the_same_locations_count_as_one(grouped):
    """Each has the others' mean as its baseline: without reward only the words are left."""
    features, tokens, targets = inputs(batch=2, captions=3)
    if not grouped:
        features, tokens, targets = features[:1].repeat(3, 0), tokens[0], targets[0]
    targets[..., 1, 1:] = 0
    places = np.array([[0, 2], [1, 1], [2, 0]] * (2 if grouped else 1))
    results = []
    for samples in (1, 3):
        likely = keras.metrics.SparseTopKCategoricalAccuracy(5, "likely")
        sampler = LocationSampler(reward_weight=float(samples > 1), samples=samples)
        reader = HardAttention(5, sampler)
        model = model_of(decoder(reader), penalty=0.5)
        model.compile("sgd", TokenCrossEntropy(), weighted_metrics=[likely])
        force(reader, places.repeat(samples, 0))
        slopes, outputs = gradients(model, features, tokens, targets)
        weights = (targets != 0).astype("float32")
        metrics = model.compute_metrics(None, targets, outputs, weights)
        results.append((slopes, outputs, float(metrics["likely"])))
    (one, outputs, accuracy), (several, repeated, other_accuracy) = results
    for gradient, expected in zip(several, one):
        gradient, expected = map(tf.convert_to_tensor, (gradient, expected))
        np.testing.assert_allclose(gradient, expected, atol=1e-6)
    for key, output in outputs.items():
        axis = 1 if grouped else 0
        np.testing.assert_allclose(repeated[key], np.repeat(output, 3, axis), atol=1e-6)
    assert 0 < accuracy == other_accuracy


def test_one_caption_a_picture_counts_as_a_group_of_one():
    """Its penalty too; and weights may be those of captions or of pictures."""
    features, tokens, targets = inputs(batch=3, captions=1)
    targets[1, 0, 1:] = tokens[1, 0, 1:] = 0
    model = model_of(decoder(SoftAttention(5)), penalty=0.7)
    single = gradients(model, features, tokens[:, 0], targets[:, 0])[0]
    for gradient, expected in zip(gradients(model, features, tokens, targets)[0], single):
        gradient, expected = map(tf.convert_to_tensor, (gradient, expected))
        np.testing.assert_allclose(gradient, expected, atol=1e-6)
    assert np.any(tf.convert_to_tensor(single[0]))
    features, tokens, targets = inputs(batch=2, captions=3)
    losses = []
    for samples in (1, 2):
        reader = HardAttention(5, LocationSampler(0.0, 0.0, 0.0, samples=samples))
        model = model_of(decoder(reader))
        force(reader, np.zeros((6 * samples, LENGTH), int))
        batch = {FEATURES: features, TOKENS: tokens}
        outputs = model(batch, training=True)
        for shape in ((2, 1, 1), (2, 3, 1), (2, 3, LENGTH)):
            weights = np.arange(1.0, 1 + np.prod(shape), dtype="float32").reshape(shape)
            weights = weights.reshape([size for size in shape if size > 1])
            losses.append(float(model.compute_loss(batch, targets, outputs, weights)))
    assert losses[:3] == pytest.approx(losses[3:], rel=1e-5)


@pytest.mark.slow
def test_hard_attention_trains_and_comes_back_from_its_file(tmp_path):
    keras.utils.set_random_seed(0)
    model = model_of(decoder(HardAttention(5, LocationSampler(seed=7))))
    features, tokens, targets = inputs(batch=5)
    data = {FEATURES: features, TOKENS: tokens}, targets, np.ones(targets.shape, "float32")
    first = model.evaluate(*data[:2], 5, 0, data[2])
    model.fit(*data[:2], batch_size=5, epochs=23, sample_weight=data[2], verbose=0)
    assert model.evaluate(*data[:2], 5, 0, data[2]) < 0.8 * first
    assert float(model.decoder.attention.sampler.baseline.value) < -0.1
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    for key in (LOGITS, WEIGHTS):
        np.testing.assert_allclose(again(data[0])[key], model(data[0])[key], atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expectation_share": 1.5}, "expectation_share=1.5"),
        ({"baseline_decay": 1.0}, "baseline_decay=1.0"),
        ({"reward_weight": -1.0}, "reward_weight=-1.0"),
        ({"entropy_weight": -1.0}, "entropy_weight=-1.0"),
        ({"samples": 0}, "samples=0"),
        ({"gumbel_temperature": 0.0}, "gumbel_temperature=0.0"),
        ({"samples": 2, "gumbel_temperature": 0.5}, "samples=2, gumbel_temperature=0.5"),
    ],
)
def test_a_sampler_refuses_numbers_out_of_range(changes, message):
    with pytest.raises(ValueError, match=f"Expected.*Received: .*{message}"):
        LocationSampler(**changes)
